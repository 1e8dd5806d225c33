# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a tree can be mounted, and how a mount ends: by umount, detach, and the death of its processes."""

import fcntl
import json
import os
import signal
import subprocess
import time

from tree import PATIENCE, case, close_dead, code_of, t_write, until


@case
def a_killed_service_leaves_nothing_that_hangs(t):
    """kill -9 of the service: readers get an error, and the tree is unmounted."""
    cat = subprocess.Popen(["cat", t.path("trace_pipe")], stderr=subprocess.PIPE)
    fd = os.open(t.path("tracing_on"), os.O_RDONLY)
    time.sleep(0.3)
    os.kill(t.pid_of("hvtrace:fake"), signal.SIGKILL)
    assert cat.wait(PATIENCE) == 1
    cat.stderr.close()
    assert code_of(os.read, fd, 10) in ("ENOTCONN", "ECONNABORTED")
    close_dead(fd)
    until(lambda: not t.is_mounted())


@case
def a_killed_mount_leaves_nothing_that_hangs(t):
    """kill -9 of the mount's process: the service unmounts, and publishes nothing that was written."""
    t.sh("echo old >set_ftrace_filter")
    fd = os.open(t.path("set_ftrace_filter"), os.O_WRONLY | os.O_TRUNC)
    os.kill(t.pid_of("hvtrace:mount"), signal.SIGKILL)
    until(lambda: not t.is_mounted())
    assert code_of(os.write, fd, b"x\n") in ("ENOTCONN", "ECONNABORTED")
    close_dead(fd)
    assert t.socket("set_ftrace_filter") == "old\n"
    t.hv("mount", "fake", t.dir)
    assert t.read("set_ftrace_filter") == "old\n"


@case
def both_killed(t):
    """The next mount removes the mount that two dead processes left."""
    fd = os.open(t.path("tracing_on"), os.O_RDONLY)
    os.kill(t.pid_of("hvtrace:mount"), signal.SIGSTOP)
    os.kill(t.pid_of("hvtrace:fake"), signal.SIGKILL)
    os.kill(t.pid_of("hvtrace:mount"), signal.SIGKILL)
    until(lambda: code_of(os.stat, t.dir) == "ENOTCONN")
    assert code_of(os.read, fd, 10) in ("ENOTCONN", "ECONNABORTED")
    close_dead(fd)
    t.hv("attach", "fake")
    t.hv("mount", "fake", t.dir)
    assert t.read("tracing_on") == "1\n"


@case
def mounts_of_dead_processes_are_removed(t):
    """The next umount of any tree removes mounts that two dead processes left in the folder of all trees."""
    t.hv("umount", "fake")
    default = t.hv("mount", "fake").strip()
    os.kill(t.pid_of("hvtrace:mount"), signal.SIGSTOP)
    os.kill(t.pid_of("hvtrace:fake"), signal.SIGKILL)
    os.kill(t.pid_of("hvtrace:mount"), signal.SIGKILL)
    until(lambda: code_of(os.stat, default) == "ENOTCONN")
    t.hv("umount", "other", status=1)
    assert not os.path.lexists(default)


@case
def others_mounts_stay(t):
    """If something else is mounted where the tree was, it stays when the tree's process dies."""
    mounter = t.pid_of("hvtrace:mount")
    os.kill(mounter, signal.SIGSTOP)
    subprocess.run(["umount", "-l", t.dir], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", t.dir], check=True)
    os.kill(mounter, signal.SIGKILL)
    until(lambda: json.loads(t.hv("stat", "--json", "fake"))["mounts"] == [])
    assert t.is_mounted()


@case
def a_mount_keeps_nothing_open(t):
    """The process that serves a mount inherits no open files from the command that started it."""
    t.hv("umount", "fake")
    ours, others = os.pipe()
    far = fcntl.fcntl(others, fcntl.F_DUPFD, 50)
    subprocess.run([*t.command, "mount", "fake", t.dir], pass_fds=(far,), stdout=subprocess.DEVNULL, check=True)
    os.close(others)
    os.close(far)
    assert os.read(ours, 1) == b""
    os.close(ours)


@case
def a_stuck_service_leaves_readers_killable(t):
    """If the service does not answer, a program that waits for it can be killed within seconds."""
    service = t.pid_of("hvtrace:fake")
    cat = subprocess.Popen(["cat", t.path("trace_pipe")])
    time.sleep(0.3)
    os.kill(service, signal.SIGSTOP)
    other = subprocess.Popen(["cat", t.path("tracing_on")])
    time.sleep(0.3)
    cat.kill()
    other.kill()
    cat.wait(PATIENCE)
    other.wait(PATIENCE)
    os.kill(service, signal.SIGCONT)
    assert t.read("tracing_on") == "1\n"
    t_write(t.path("current_tracer"), b"nop\n")


@case
def where_it_can_be_mounted(t):
    """Errors: mounting at a file, at a directory in use, at one that does not exist; unmounting one in use."""
    work = os.path.dirname(t.dir)
    with open(os.path.join(work, "file"), "w", encoding="utf-8"):
        pass
    assert "not a directory" in t.hv("mount", "fake", work + "/file", status=1)
    assert "No such file" in t.hv("mount", "fake", work + "/none", status=1)
    assert "not empty" in t.hv("mount", "fake", work, status=1)
    assert "a guest's tree is mounted there" in t.hv("mount", "fake", t.dir, status=1)
    fd = os.open(t.path("tracing_on"), os.O_RDONLY)
    assert "a process has a file open" in t.hv("umount", "fake", status=1)
    os.close(fd)
    t.hv("umount", t.dir)
    assert not t.is_mounted()
    assert "no guest's tree is mounted there" in t.hv("umount", t.dir, status=1)
    assert "its tree is not mounted" in t.hv("umount", "fake", status=1)
    subprocess.run(["mount", "-t", "tmpfs", "none", t.dir], check=True)
    assert f"{t.dir}: something is mounted there" in t.hv("mount", "fake", t.dir, status=1)
    subprocess.run(["umount", t.dir], check=True)
    assert f"{t.dir}: cannot be mounted on: Operation not permitted" in t.failing("mount", "EPERM", "mount", "fake", t.dir)
    assert "cannot start the process that serves the mount: fork failed" in t.failing("clone", "EAGAIN", "mount", "fake", t.dir)
    # the process that serves the mount needs chdir(2)
    assert f"{t.dir}: mounted, but not served: Transport endpoint is not connected" in t.failing("chdir", "EACCES", "mount", "fake", t.dir)
    # the mount's process may live a little longer than the mount
    t.hv("mount", "fake", t.dir)
    server = t.pid_of("hvtrace:mount")
    os.kill(server, signal.SIGSTOP)
    subprocess.run(["umount", "--lazy", "--no-canonicalize", t.dir], check=True, timeout=PATIENCE)
    assert "its tree is not mounted" in t.hv("umount", "fake", status=1)
    os.kill(server, signal.SIGCONT)
    odd = os.path.join(work, "a b\\c")
    os.mkdir(odd)
    t.hv("mount", "fake", odd)
    t.hv("umount", odd)
    default = t.hv("mount", "fake").strip()
    assert default == t.run_dir + "/tracing/fake"
    assert "tracing_on" in os.listdir(default)
    t.hv("detach", "fake")
    assert not os.path.ismount(default)
    until(lambda: not os.path.exists(default))


@case
def attach_and_mount(t):
    """attach --mount; if the mount fails, attach reports it, and the session stays."""
    t.hv("detach", "fake")
    until(lambda: not t.is_mounted())
    assert t.dir in t.hv("attach", "--mount=" + t.dir, "fake")
    assert t.read("current_tracer") == "nop\n"
    t.hv("detach", "fake")
    with open(os.path.join(os.path.dirname(t.dir), "file"), "w", encoding="utf-8"):
        pass
    text = t.hv("attach", "--mount=" + os.path.dirname(t.dir) + "/file", "fake", status=1)
    assert "attached" in text and "not mounted" in text and "not a directory" in text
    assert t.socket("current_tracer") == "nop\n"
