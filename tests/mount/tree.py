# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers for the cases of the mounted tree: a mounted session of the fake domain, and queries of the host."""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import time

CASES = []
PATIENCE = 120  # seconds; it takes a moment on a quiet machine


def case(function):
    CASES.append(function)
    return function


class Tree:
    """A session of the fake domain, mounted."""

    def __init__(self, program, work):
        self.run_dir = os.path.join(work, "run")
        self.dir = os.path.join(work, "tree")
        self.command = [program, self.run_dir]
        os.mkdir(self.dir)

    def hv(self, *words, status=0, timeout=PATIENCE):
        done = subprocess.run([*self.command, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout)
        text = (done.stdout + done.stderr).decode()
        assert done.returncode == status, f"{words}: status {done.returncode}: {text}"
        return text

    def failing(self, call, error, *words):
        """Returns the message of a command in which a system call fails (tests/lib/failing_call.c)."""
        failing_call = os.path.join(os.path.dirname(self.command[0]), "failing_call")
        done = subprocess.run([failing_call, call, error, *self.command, *words], stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=PATIENCE, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        assert done.returncode == 1, f"{words}: status {done.returncode}: {done}"
        return done.stderr.decode()

    def sh(self, script, status=0, timeout=PATIENCE):
        done = subprocess.run(["sh", "-c", script], cwd=self.dir, capture_output=True, timeout=timeout)
        text = (done.stdout + done.stderr).decode()
        assert done.returncode == status, f"{script}: status {done.returncode}: {text}"
        return text

    def path(self, name):
        return os.path.join(self.dir, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def socket(self, name):
        """Asks the service directly, without the mount."""
        return self.hv("cat", "fake", name)

    def pid_of(self, what):
        """Returns the pid of this session's hvtrace:mount or hvtrace:fake."""
        for pid in os.listdir("/proc"):
            try:
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    name = file.read().strip()
                with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                    words = file.read().split("\0")
            except OSError:
                continue
            if name == what and self.run_dir in words:
                return int(pid)
        return None

    def is_mounted(self):
        with open("/proc/self/mounts", encoding="utf-8") as file:
            return any(line.split()[1] == self.dir for line in file)

    def end(self):
        for what in ("hvtrace:mount", "hvtrace:fake"):
            while pid := self.pid_of(what):
                os.kill(pid, signal.SIGCONT)
                os.kill(pid, signal.SIGKILL)
                time.sleep(0.01)
        subprocess.run(["umount", "-l", self.dir], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def starved(t, seconds):
    """Keeps the inspector from running for some time: it may use one CPU only, where another process has priority, if
    that is allowed."""
    ours = os.sched_getaffinity(0)
    cpu = min(ours)
    until(lambda: t.pid_of("hvtrace:inspect"))  # the inspector sets its name after its start
    os.sched_setaffinity(t.pid_of("hvtrace:inspect"), {cpu})
    for pid in (0, t.pid_of("hvtrace:mount"), t.pid_of("hvtrace:errands")):  # errands starts the next inspector
        os.sched_setaffinity(pid, ours - {cpu} or ours)
    script = (f"import os, time; os.sched_setaffinity(0, {{{cpu}}}); os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))\n"
              f"print(flush=True); end = time.monotonic() + {seconds}\n"
              "while time.monotonic() < end: pass")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as first:
        if not first.stdout.readline():
            print("     SCHED_FIFO is not allowed here: the inspector keeps its CPU", flush=True)
        try:
            yield
        finally:
            os.sched_setaffinity(0, ours)


def close_dead(fd):
    """Closes a file whose server has died: close(2) may fail, but the file is closed."""
    try:
        os.close(fd)
    except OSError:
        pass


def until(question, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not question():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.02)


def code_of(function, *args):
    try:
        result = function(*args)
        if function is os.open:
            os.close(result)
    except OSError as error:
        return errno.errorcode[error.errno]
    return 0


def thread_sleeps(tid):
    """Returns whether this process's thread TID sleeps or has ended."""
    try:
        with open(f"/proc/self/task/{tid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "R"
    except OSError:
        return True


def t_write(path, data):
    fd = os.open(path, os.O_WRONLY)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def comm(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""


def cmdline(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
            return file.read().split("\0")
    except OSError:
        return []
