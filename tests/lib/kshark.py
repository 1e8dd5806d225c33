# SPDX-License-Identifier: GPL-2.0-or-later
"""Loads files as KernelShark does, with its library (libkshark2), in a separate process."""

import ctypes
import json
import os
import subprocess
import sys

LIBRARY = "libkshark.so.2"


def library():
    try:
        return ctypes.CDLL(LIBRARY, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None


def can():
    return library() is not None


class Guest(ctypes.Structure):
    """struct kshark_host_guest_map: streams of a guest and of its host, and the threads of its vCPUs."""

    _fields_ = [
        ("guest", ctypes.c_int),
        ("host", ctypes.c_int),
        ("name", ctypes.c_char_p),
        ("nr", ctypes.c_int),
        ("threads", ctypes.POINTER(ctypes.c_int)),
    ]


def load(paths):
    """Opens PATHS in turn, as KernelShark does with `-a`, and prints the result of read()."""
    k, context = library(), ctypes.c_void_p()
    k.kshark_instance.restype = ctypes.c_bool
    k.kshark_load_all_entries.restype = ctypes.c_ssize_t
    k.kshark_dump_entry.restype = ctypes.c_char_p
    assert k.kshark_instance(ctypes.byref(context))
    for path in paths:
        assert k.kshark_open(context, path.encode()) >= 0, path
    rows, guests = ctypes.POINTER(ctypes.c_void_p)(), ctypes.POINTER(Guest)()
    number = k.kshark_load_all_entries(context, ctypes.byref(rows))
    found = []
    for i in range(number):
        text = k.kshark_dump_entry(ctypes.c_void_p(rows[i]))
        # "STREAM; TIME; TASK; CPU N; FLAGS; SYSTEM/EVENT; INFO; MASK"; empty for an unknown event
        words = text.decode().split("; ") if text else ["-1", "0", "", "", "", "?"]
        found.append({"stream": int(words[0]), "time": int(words[1]), "event": words[5]})
    count = max(k.kshark_tracecmd_get_hostguest_mapping(ctypes.byref(guests)), 0)
    mapped = [{"guest": g.guest, "host": g.host, "name": g.name.decode(), "vcpus": g.nr} for g in guests[:count]]
    print(json.dumps([found, mapped]))


def read(paths, patience):
    """Returns the events of PATHS in KernelShark's order, and the pairs of guest and host streams."""
    done = subprocess.run([sys.executable, os.path.abspath(__file__), *paths], capture_output=True, timeout=patience)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout.decode().splitlines()[-1])


if __name__ == "__main__":
    load(sys.argv[1:])
