# SPDX-License-Identifier: GPL-2.0-or-later
"""Sessions of the fake domain with recorded events, and trace-cmd's output for them."""

import os
import subprocess
import time

from lib.tracecmd import LINE

PATIENCE = 120


class Session:
    def __init__(self, program, work):
        self.work = work
        self.command = [os.path.abspath(program), f"{work}/run"]

    def hv(self, *words, status=0):
        done = subprocess.run([*self.command, *words], cwd=self.work, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
        text = (done.stdout + done.stderr).decode()
        assert done.returncode == status, f"{words}: status {done.returncode}: {text}"
        return text

    def raw(self, number):
        """Makes NUMBER events on each of two vCPUs."""
        self.hv("echo", "fake", "control", f"raw {number}")

    def start(self, *words):
        return subprocess.Popen([*self.command, "record", "-p", "function", *words], cwd=self.work, stderr=subprocess.PIPE)

    def record(self, *words, status=0):
        return self.hv("record", "-p", "function", *words, "fake", "--for", "300ms", status=status)

    def path(self, name):
        return os.path.join(self.work, name)

    def size(self, name):
        return os.stat(self.path(name)).st_size


def report(path):
    """Returns the lines of `trace-cmd report` as (name, pid, cpu, time, event, text)."""
    done = subprocess.run(["trace-cmd", "report", "-i", path], capture_output=True, timeout=PATIENCE)
    lines = done.stdout.decode().splitlines()
    assert done.returncode == 0, done.stderr.decode()
    found = [match.groups() for match in map(LINE.match, lines) if match]
    assert len(found) == len(lines) - 1, [line for line in lines if not LINE.match(line)][:5]
    return found


def expected(number, begin=0):
    """Returns the expected result of report() for the fake's events (fake_raw.c)."""
    found = []
    for i in range(begin, number):
        for cpu in range(2):
            name, pid = (("cat", "61"), ('a "b\\', "62"))[i // 2 % 2]
            nanoseconds = 1000000000 + i * 1000 + cpu * 500
            micros = (nanoseconds + 500) // 1000
            seconds = f"{micros // 10**6}.{micros % 10**6:06}"
            found.append((name, pid, f"{cpu:03}", seconds, "function", ("vfs_read", "vfs_write")[i % 2]))
    return found


def same(got, wanted):
    assert len(got) == len(wanted), f"{len(got)} events instead of {len(wanted)}"
    for one, other in zip(got, wanted):
        assert one == other, (one, other)


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
