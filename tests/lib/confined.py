# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel's status of a process that has called hv_confine(), and its sockets."""

import ctypes
import os
import socket
import time

PATIENCE = 120
ZERO = "0000000000000000"


def status(pid):
    """Returns {key: value}."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        return {key: value.strip() for key, _, value in (line.partition(":") for line in file)}


def children(pid):
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            found += map(int, file.read().split())
    return found


def until_confined(pid):
    deadline = time.monotonic() + PATIENCE
    while status(pid).get("Seccomp") != "2":
        assert time.monotonic() < deadline, status(pid)
        time.sleep(0.02)


def check(pid, user=0, owner=False):
    """Waits until the process, started by USER, is confined, and checks it. OWNER: its file-system ids may be root's."""
    until_confined(pid)
    for task in os.listdir(f"/proc/{pid}/task"):
        found = status(task)
        if os.geteuid() == 0 and user == 0:
            for key in ("Uid", "Gid"):
                ids = found[key].split()
                assert "0" not in (ids[:3] if owner else ids), (pid, key, found[key])
            assert found["Groups"] == "", found["Groups"]
        for key in ("CapPrm", "CapEff", "CapInh", "CapAmb"):
            assert found[key] == ZERO, (key, found[key])
        assert found["NoNewPrivs"] == "1" and found["Seccomp"] == "2", found


def sockets_of(pid):
    """Returns copies of the sockets of another process (pidfd_getfd(2))."""
    calls = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    found = [int(fd) for fd in os.listdir(f"/proc/{pid}/fd") if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")]
    copies = [calls.syscall(438, pidfd, fd, 0) for fd in found]
    os.close(pidfd)
    return [socket.socket(fileno=fd) for fd in copies if fd >= 0]
