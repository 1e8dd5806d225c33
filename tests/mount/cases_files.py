# SPDX-License-Identifier: GPL-2.0-or-later
"""Files of the mounted tree behave as in tracefs: names, reads, writes, publication at close, waiting."""

import fcntl
import os
import re
import select
import signal
import subprocess
import sys
import threading
import time

from lib.process import has_open
from tree import PATIENCE, case, code_of, starved, t_write, thread_sleeps, until


@case
def files_as_in_tracefs(t):
    """Names, modes, sizes; reads of any length, from anywhere; errnos."""
    assert sorted(os.listdir(t.dir)) == sorted(t.hv("ls", "fake").split())
    stat = os.stat(t.path("current_tracer"))
    assert (stat.st_size, stat.st_nlink, stat.st_mode) == (0, 1, 0o100640)
    assert os.stat(t.dir).st_mode == 0o040700
    t.sh("echo a b c >set_ftrace_filter")
    assert t.read("set_ftrace_filter") == "a\nb\nc\n"
    assert t.sh("dd bs=1 if=set_ftrace_filter 2>/dev/null") == "a\nb\nc\n"
    assert t.sh("head -c 3 set_ftrace_filter") == "a\nb"
    fd = os.open(t.path("set_ftrace_filter"), os.O_RDONLY)
    assert os.read(fd, 100) == b"a\nb\nc\n" and os.read(fd, 100) == b""
    os.lseek(fd, 2, os.SEEK_SET)
    assert os.read(fd, 100) == b"b\nc\n"
    os.lseek(fd, 0, os.SEEK_SET)
    t.sh("echo d >>set_ftrace_filter")
    assert os.read(fd, 100) == b"a\nb\nc\nd\n"
    os.close(fd)
    assert code_of(os.mkdir, t.path("x")) == "EPERM"
    assert code_of(os.unlink, t.path("control")) == "EPERM"
    assert code_of(os.rename, t.path("control"), t.path("x")) == "EPERM"
    assert code_of(os.open, t.path("x"), os.O_CREAT | os.O_WRONLY) == "EACCES"
    assert code_of(os.open, t.path("x"), os.O_RDONLY) == "ENOENT"
    assert code_of(os.open, t.path("trace_pipe/x"), os.O_RDONLY) == "ENOTDIR"
    assert code_of(os.chmod, t.path("control"), 0o777) == "EPERM"
    pipe = os.open(t.path("trace_pipe"), os.O_RDONLY)
    assert code_of(os.open, t.path("trace_pipe"), os.O_RDONLY) == "EBUSY"
    text = t.hv("echo", "fake", "current_tracer", "function", status=1)
    assert re.search(r"busy.*: pid \d+ \(a mount\) has trace_pipe open", text), text
    assert code_of(os.lseek, pipe, 0, os.SEEK_SET) == "ESPIPE"
    os.close(pipe)


@case
def instances_come_and_go(t):
    """The kernel caches names, except names of instances, because clients of the socket also create and remove these."""
    below = t.path("instances/x/current_tracer")
    assert code_of(os.stat, below) == "ENOENT"
    t.hv("mkdir", "fake", "instances/x")
    for name in (below, t.path("current_tracer"), t.path("instances")):
        os.stat(name)
    t.hv("rmdir", "fake", "instances/x")
    assert code_of(os.stat, below) == "ENOENT" and code_of(os.stat, os.path.dirname(below)) == "ENOENT"
    assert os.listdir(t.path("instances")) == []
    t.hv("mkdir", "fake", "instances/x")
    assert os.stat(below).st_size == 0
    os.rmdir(t.path("instances/x"))
    assert code_of(os.stat, below) == "ENOENT"


@case
def writes_are_short_and_publish_at_close(t):
    """A write takes one token. Written text takes effect at close(2), not before."""
    t.sh("echo old >set_ftrace_filter")
    fd = os.open(t.path("set_ftrace_filter"), os.O_WRONLY | os.O_TRUNC)
    assert t.socket("set_ftrace_filter") == "old\n"
    assert os.write(fd, b"one two\n") == 4
    assert os.write(fd, b"two\n") == 4
    assert code_of(os.write, fd, b"nosuch\n") == "EINVAL"
    assert t.socket("set_ftrace_filter") == "old\n"
    copy = os.dup(fd)
    os.close(copy)
    assert t.socket("set_ftrace_filter") == "old\n", "published although a descriptor is left"
    os.close(fd)
    assert t.socket("set_ftrace_filter") == "one\ntwo\n"
    t.sh("exec 3>set_ftrace_filter; echo a >&3; echo b >&3; cat set_ftrace_filter >&2; exec 3>&-")
    assert t.socket("set_ftrace_filter") == "a\nb\n"
    t.sh(": >set_ftrace_filter; cat set_ftrace_filter")
    assert t.socket("set_ftrace_filter") == ""


@case
def reads_continue_after_a_publication(t):
    """After a process closes a shared open file, another process reads the published text from any offset."""
    t.sh("echo a b >set_ftrace_filter")
    fd = os.open(t.path("set_ftrace_filter"), os.O_RDWR | os.O_APPEND)
    assert os.read(fd, 2) == b"a\n"
    closed, close = os.pipe()
    reader = os.fork()
    if reader == 0:
        os.close(close)
        os.read(closed, 1)
        os._exit([os.pread(fd, 100, 2), os.pread(fd, 100, 0)] != [b"b\nc\n", b"a\nb\nc\n"])
    assert os.write(fd, b"c\n") == 2
    with starved(t, 0.4):  # as on a loaded host
        os.close(fd)
        assert t.socket("set_ftrace_filter") == "a\nb\nc\n", "not published by the writer's close"
    os.close(close)
    os.close(closed)
    assert os.waitpid(reader, 0)[1] == 0


@case
def killed_writers_publish_nothing(t):
    """If a writer is killed between truncation and the data, or after a part of it, the list stays as it was."""
    t.sh("echo old list >set_ftrace_filter")
    before = t.socket("set_ftrace_filter")
    assert before == "old\nlist\n"
    scripts = {
        "truncated": "exec 3>set_ftrace_filter; echo; exec sleep 60",
        "truncated, duplicated": "{ echo >&2; exec sleep 60; } >set_ftrace_filter",
        "a part": "exec python3 -c 'import os, time; fd = os.open(\"set_ftrace_filter\", os.O_WRONLY | os.O_TRUNC);"
        " os.write(fd, b\"one two three\"); print(flush=True); time.sleep(60)'",
    }
    for name, script in scripts.items():
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            shell = subprocess.Popen(["sh", "-c", script], cwd=t.dir, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            assert shell.stdout.readline()
            shell.send_signal(number)
            shell.wait(PATIENCE)
            shell.stdout.close()
            for _ in range(10):
                assert t.read("set_ftrace_filter") == before, (name, number)
                assert t.socket("set_ftrace_filter") == before, (name, number)
                time.sleep(0.02)


@case
def writers_that_end_without_closing_publish(t):
    """If a program writes everything and ends without closing the file, the text takes effect."""
    t.sh("python3 -c 'import os; fd = os.open(\"set_ftrace_filter\", os.O_WRONLY | os.O_TRUNC);"
         " os.write(fd, b\"one\\n\"); os._exit(0)'")
    assert t.read("set_ftrace_filter") == "one\n"


@case
def closed_by_exec(t):
    """execve(2) closes a file and holds a lock that /proc needs, so the mount must not read /proc."""
    script = ("import os; fd = os.open('set_ftrace_filter', os.O_WRONLY | os.O_TRUNC); os.write(fd, b'one\\n');"
              " os.execv('/bin/cat', ['cat', 'set_ftrace_filter'])")
    for _ in range(3):
        assert t.sh(f'exec python3 -c "{script}"') == "one\n"
    script = "import os; fd = os.open('trace_pipe', os.O_RDONLY); os.execv('/bin/sh', ['sh', '-c', 'echo nop >current_tracer'])"
    for _ in range(3):
        t.sh(f'exec python3 -c "{script}"')
    # the data shows whether the write is complete
    for written in (b"", b"two three"):
        script = (f"import os; fd = os.open('set_ftrace_filter', os.O_WRONLY | os.O_TRUNC); {written!r} and os.write(fd, {written!r});"
                  " os.execv('/bin/true', ['true'])")
        t.sh(f'exec python3 -c "{script}"')
        assert t.read("set_ftrace_filter") == "one\n", written


@case
def a_dead_reader_does_not_block(t):
    """`echo nop >current_tracer` right after a killed `cat trace_pipe` is not EBUSY."""
    for _ in range(20):
        cat = subprocess.Popen(["cat", t.path("trace_pipe")], stdout=subprocess.DEVNULL)
        until(lambda: has_open(cat.pid, t.path("trace_pipe")))  # pylint: disable=cell-var-from-loop
        assert code_of(t_write, t.path("current_tracer"), b"nop\n") == "EBUSY"
        cat.kill()
        cat.wait()
        t_write(t.path("current_tracer"), b"nop\n")


@case
def an_unfinished_close_is_awaited(t):
    """The last user of a file is dead: however long the close takes, the next program finds the file closed."""
    opened = []
    with starved(t, 0.4):
        opener = threading.Thread(target=lambda: opened.append(os.open(t.path("trace_pipe"), os.O_RDONLY)))
        opener.start()
        opener.join()
        until(lambda: not os.path.exists(f"/proc/self/task/{opener.native_id}"))
        closer = threading.Thread(target=os.close, args=opened)
        closer.start()
        until(lambda: not has_open(os.getpid(), t.path("trace_pipe")) and thread_sleeps(closer.native_id))
        t_write(t.path("current_tracer"), b"nop\n")
    closer.join()


@case
def the_end_of_a_dead_reader_is_awaited(t):
    """The next program waits a moment for the close of a dead reader's file, and gets EBUSY if another process has it."""
    reader = subprocess.Popen(["sh", "-c", "exec 3<trace_pipe; sleep 60 & echo $!; kill -KILL $$"], cwd=t.dir, stdout=subprocess.PIPE)
    sleeper = int(reader.stdout.readline())
    reader.wait()
    started = time.monotonic()
    assert code_of(t_write, t.path("current_tracer"), b"nop\n") == "EBUSY"
    assert time.monotonic() - started >= 0.1
    os.kill(sleeper, signal.SIGKILL)
    reader.stdout.close()
    until(lambda: code_of(t_write, t.path("current_tracer"), b"nop\n") == 0)


@case
def a_reader_that_closed_is_gone(t):
    """A program that closes trace_pipe can switch the tracer immediately, even if the file was open only briefly."""
    for number in range(100):
        pipe = os.open(t.path("trace_pipe"), os.O_RDONLY)
        time.sleep(number % 10 * 0.0003)
        os.close(pipe)
        t_write(t.path("current_tracer"), b"nop\n")


@case
def waiting_readers(t):
    """A reader of trace_pipe waits for data or a signal; with O_NONBLOCK it does not wait; poll(2) reports data."""
    pipe = os.open(t.path("trace_pipe"), os.O_RDONLY | os.O_NONBLOCK)
    assert code_of(os.read, pipe, 10) == "EAGAIN"
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    assert poll.poll(100) == []
    later = subprocess.Popen(["sh", "-c", "sleep 0.5; echo emit 1 >control"], cwd=t.dir)
    assert poll.poll() == [(pipe, select.POLLIN)]
    assert os.read(pipe, 100) == b"line 0\n"
    os.close(pipe)
    later.wait()
    cat = subprocess.Popen(["cat", t.path("trace_pipe")], stdout=subprocess.PIPE)
    time.sleep(0.3)
    assert t.read("tracing_on") == "1\n", "a waiting reader blocks others"
    t.hv("echo", "fake", "control", "emit", "2")
    assert cat.stdout.readline() == b"line 0\n"
    cat.send_signal(signal.SIGINT)
    assert cat.wait(PATIENCE) == -signal.SIGINT
    cat.stdout.close()


@case
def an_interrupted_read_loses_nothing(t):
    """If data arrives while a signal ends the wait, the next read returns it."""
    script = ("import os, signal, sys\n"
              "signal.signal(signal.SIGALRM, lambda *a: None)\n"
              "signal.siginterrupt(signal.SIGALRM, True)\n"
              "signal.setitimer(signal.ITIMER_REAL, 0.01, 0.003)\n"
              "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
              "text = b''\n"
              "while text.count(b'\\n') < 2000: text += os.read(fd, 4096)\n"
              "signal.setitimer(signal.ITIMER_REAL, 0)\n"
              "print(text.count(b'\\n'), text.count(b'line 0'))\n")
    reader = subprocess.Popen([sys.executable, "-c", script, t.path("trace_pipe")], stdout=subprocess.PIPE)
    time.sleep(0.3)
    for _ in range(200):
        t_write(t.path("control"), b"emit 10\n")
    assert reader.communicate(timeout=PATIENCE)[0] == b"2000 200\n"


@case
def a_wait_is_ended_by_ioctl(t):
    """ioctl(fd, 0) of a pipe ends the wait of its reader without data. Other files do not have it."""
    pipe = os.open(t.path("trace_pipe"), os.O_RDONLY)
    reader = os.fork()
    if reader == 0:
        os._exit(os.read(pipe, 10) != b"")
    until(lambda: fcntl.ioctl(pipe, 0) == 0 and os.waitpid(reader, os.WNOHANG) == (reader, 0))
    assert code_of(fcntl.ioctl, pipe, 0x5401) == "ENOTTY"
    t.hv("echo", "fake", "control", "emit", "1")
    assert os.read(pipe, 100) == b"line 0\n"
    os.close(pipe)
    with open(t.path("tracing_on"), encoding="utf-8") as file:
        assert code_of(fcntl.ioctl, file.fileno(), 0) == "ENOTTY"


@case
def only_root_has_access(t):
    """The kernel refuses every other user, even if the path is accessible."""
    os.chmod(os.path.dirname(t.dir), 0o755)
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "cat", t.path("tracing_on")]
    done = subprocess.run(user, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 1 and b"Permission denied" in done.stderr, done


@case
def splice_from_a_pipe(t):
    """splice(2), which trace-cmd uses, reaches the tree on every kernel, with any descriptor."""
    for script in ("", "fd = os.dup2(fd, 10); os.close(3);"):
        t.hv("echo", "fake", "control", "emit", "3")
        spliced(t, script)


def spliced(t, script=""):
    """Reads trace_pipe with splice(2) in a separate program, where the first free descriptor is 3."""
    program = (f"import os, time, sys; fd = os.open('trace_pipe', os.O_RDONLY); end = time.monotonic() + {PATIENCE}\n"
               f"assert fd == 3; {script} out, into = os.pipe(); n = 0\n"
               "while n == 0 and time.monotonic() < end: n = os.splice(fd, into, 4096)\n"
               "os.write(1, os.read(out, n) if n else b'nothing')")
    done = subprocess.run([sys.executable, "-c", program], cwd=t.dir, capture_output=True, timeout=2 * PATIENCE)
    assert done.stdout == b"line 0\nline 1\nline 2\n", done


@case
def a_stopped_helper_blocks_no_close(t):
    """close(2) waits a moment for the inspector if it has the file open, but not if it is stopped or dead."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        until(lambda: t.pid_of("hvtrace:inspect"))  # the inspector sets its name after its start
        helper = t.pid_of("hvtrace:inspect")
        os.kill(helper, number)
        pipe = os.open(t.path("trace_pipe"), os.O_RDONLY)
        os.close(pipe)
        t_write(t.path("current_tracer"), b"nop\n")
        t.hv("echo", "fake", "control", "emit", "3")
        spliced(t)
        until(lambda: t.pid_of("hvtrace:inspect") not in (None, helper))


@case
def a_vmm_offers_a_file_of_a_mount(t):
    """The broker takes no FUSE file of a VMM: it does not even copy the descriptor. Memory files and files on disks pass."""
    vmm_file = os.path.join(os.path.dirname(t.command[0]), "vmm_file")
    work = os.path.dirname(t.dir)
    files = {"memory": os.memfd_create("ram"), "disk": os.open(f"{work}/ram", os.O_RDWR | os.O_CREAT), "fuse": os.open(t.path("set_ftrace_filter"), os.O_RDWR)}
    for name, fd in files.items():
        done = subprocess.run([vmm_file, str(os.getpid()), str(fd)], capture_output=True, timeout=PATIENCE, check=True, text=True)
        refusal = f"the file 'descriptor {fd} of the VMM' is on a file system of type fuse"
        assert done.stdout.startswith(refusal) if name == "fuse" else done.stdout == "taken\n", (name, done.stdout)
        os.close(fd)
