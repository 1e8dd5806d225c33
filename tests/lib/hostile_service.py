# SPDX-License-Identifier: GPL-2.0-or-later
"""A service that a guest controls: it has a session's socket and sends arbitrary answers. The files info, pid and
lock are as the broker writes them."""

import fcntl
import json
import os
import socket
import struct
import threading
import time

VERSION, HEAD = 3, struct.Struct("<IHHIIII")  # from lib/wire.h, as are the kinds
LIST, OPEN, READ, WRITE, CLOSE, STAT, DETACH, LOOK, OPEN_PROC, MOUNT, WATCH = 1, 2, 3, 4, 5, 6, 7, 13, 16, 17, 19
MEMORY, PERCPU = 24, 25
OK, ERROR, NOTE = 0x80, 0x81, 0x82
DIR, FILE = 0o040000, 0o100000
F_OFD_SETLK = 37


def frame(kind, data=b"", handle=0, arg=0, tag=0):
    return HEAD.pack(HEAD.size + len(data), VERSION, kind, handle & 0xffffffff, arg & 0xffffffff, 0, tag) + data


class Request:
    def __init__(self, kind, handle, arg, wait_ms, tag, data):
        self.kind, self.handle, self.arg, self.wait_ms, self.tag, self.data = kind, handle, arg, wait_ms, tag, data


def tagged(data, tag):
    """DATA, in which the frames without a tag are answers to the request with TAG."""
    data, at = bytearray(data), 0
    while at + HEAD.size <= len(data):
        length, version, *_, own = HEAD.unpack_from(data, at)
        if length < HEAD.size or version != VERSION:
            break
        if not own:
            struct.pack_into("<I", data, at + HEAD.size - 4, tag)
        at += length
    return bytes(data)


class HostileService:
    """ANSWERS maps kinds of requests to functions; the key None is for all other kinds. The default answer is an empty
    WIRE_OK. A function gets the request and returns bytes, a list of bytes and pauses (seconds), or None: no answer. Frames
    without a tag get the one of the request."""

    def __init__(self, run_dir, session_id="session-id", name="victim", answers=None, vmm_pid=0, listens=True, accepts=True):
        self.dir, self.name, self.id = f"{run_dir}/{session_id}", name, session_id
        self.answers, self.ends, self.seen = answers or {}, threading.Event(), []
        os.makedirs(self.dir, 0o700)
        os.chmod(run_dir, 0o700)
        self.write("info", json.dumps({"id": session_id, "name": name, "spec": name, "vmm_pid": vmm_pid, "vmm_start": 0, "service_pid": os.getpid()}))
        self.write("pid", f"{os.getpid()}\n")
        self.write("log", "")
        self.lock = os.open(self.dir + "/lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.fcntl(self.lock, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(self.dir + "/sock")
        if listens:
            self.socket.listen(16)
        if accepts:
            threading.Thread(target=self.accept, daemon=True).start()

    def write(self, name, text):
        with open(f"{self.dir}/{name}", "w", encoding="utf-8") as file:
            file.write(text)

    def accept(self):
        while not self.ends.is_set():
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        data = b""
        try:
            while got := connection.recv(65536):
                data += got
                while len(data) >= 4 and len(data) >= (length := HEAD.unpack(data[:24])[0] if len(data) >= 24 else 1 << 30):
                    _, _, kind, handle, arg, wait_ms, tag = HEAD.unpack(data[:24])
                    self.answer(connection, Request(kind, handle, arg, wait_ms, tag, data[24:length]))
                    data = data[length:]
        except OSError:
            pass

    def answer(self, connection, request):
        self.seen.append(request)
        function = self.answers.get(request.kind, self.answers.get(None))
        answer = function(request) if function else frame(OK, tag=request.tag)
        parts = answer if isinstance(answer, (list, tuple)) else [answer or b""]
        data = tagged(b"".join(part for part in parts if isinstance(part, bytes)), request.tag)
        for part in parts:
            if isinstance(part, bytes):
                connection.sendall(data[:len(part)])
                data = data[len(part):]
            else:
                time.sleep(part)

    def end(self):
        self.ends.set()
        self.socket.close()
        os.close(self.lock)


def stat(**members):
    """Returns an answer to WIRE_STAT with an honest session's counts, changed by MEMBERS."""
    counts = {"domain": "victim", "id": "session-id", "kernel": "6.1.0", "transport": "fake", "service_pid": 1, "attached_ms": 5, "vmm_pid": 1,
              "current_tracer": "nop", "tracing_on": True, "clock": "tsc", "sites": {"traceable": 1, "patched": 0, "refused": 0, "refused_first": []},
              "events": 0, "lost": 0, "holds": {"count": 0, "total_ns": 0, "last_ns": 0, "max_ns": 0}, "memory": {"region_bytes": 0, "ring_bytes": 0},
              "vcpus": 1, "mounts": [], "readers": [], "processes": [], "missing_tasks": [], "held_modules": []}
    counts.update(members)
    return lambda request: frame(OK, json.dumps(counts).encode(), tag=request.tag)


def drip(data, pause=1.0):
    """Returns DATA as an answer of single bytes."""
    return [part for i in range(len(data)) for part in (data[i:i + 1], pause)]
