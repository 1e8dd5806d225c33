# SPDX-License-Identifier: GPL-2.0-or-later
"""Examines processes of this host."""

import os


def has_open(pid, path):
    try:
        return path in [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    except OSError:  # it has ended, or is calling execve()
        return False


def vcpu_thread(pid, vcpu):
    """Returns the thread of QEMU's process PID that runs this vCPU."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii", errors="replace") as file:
            if file.read().startswith(f"CPU {vcpu}/"):
                return int(tid)
    raise AssertionError(f"no thread of vCPU {vcpu}")
