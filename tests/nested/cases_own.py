# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of `hvtrace run`, on a KVM that boots Linux. After each case the suite checks that nothing of them is left
on the host."""

import os
import pty
import re
import select
import signal
import subprocess
import tempfile
import termios
import time

from lib import ftrace
from lib.own import APPEND, SHELL, OwnMachine, kernel_file, unpack_vmlinux
from lib.suite import OWN_GUESTS, Skip, bad_dmesg, case

ROUNDS = 100
KTHREADD = 2
INIT = ("kernel_init_freeable", "inet_init", "populate_rootfs")  # each runs once, and is freed at the end of boot


def healthy(machine):
    """The guest's log has no problems after its shell has started, and no tracing problems before that."""
    assert not re.search("ftrace|return thunk|Unpatched", machine.run("grep -A4 'cut here' /tmp/boot.log || true"))
    bad = bad_dmesg(machine.run("dmesg"))
    assert not bad, bad[:3]


def ends_well(machine, command="poweroff -f", status=0):
    got, err = machine.end(command)
    assert got == status, f"exit {got}: {err[-500:]}"


def count_calls(t, machine):
    """Checks that the tree's files show as many calls as the workload makes. Returns the number of events."""
    pid = ftrace.start_workload(machine, "syscalls", str(ROUNDS))
    for file, text in (("set_ftrace_filter", "vfs_*"), ("set_ftrace_pid", str(pid)), ("current_tracer", "function")):
        t.hv("echo", machine.name, file, text)
    ftrace.go(machine, pid)
    events, lost = ftrace.parse(t.hv("cat", machine.name, "trace"))
    t.hv("echo", machine.name, "current_tracer", "nop")
    calls = [function for function, _ in ftrace.calls(events, pid)]
    assert lost == 0 and {e.pid for e in events} == {pid}, f"{lost} lost"
    for function, each in (("vfs_read", 2), ("vfs_write", 1), ("vfs_open", 1), ("vfs_mkdir", 1), ("vfs_rmdir", 1)):
        got = calls.count(function)
        assert each * ROUNDS <= got <= each * ROUNDS + 8, f"{got} calls of {function} in {ROUNDS} rounds"
    return len(events)


def host_brackets(t, machine):
    """Checks that, with the host's clock, each event is between the times that were read before and after its command.
    Returns the largest difference between two such times."""
    assert "[local] x86-tsc host-mono" in t.hv("cat", machine.name, "trace_clock")
    t.hv("echo", machine.name, "trace_clock", "host-mono")
    t.hv("echo", machine.name, "set_ftrace_pid", "")
    t.hv("echo", machine.name, "set_ftrace_filter", "vfs_rmdir")
    t.hv("echo", machine.name, "current_tracer", "function")
    machine.run("mkdir /tmp/a /tmp/b /tmp/c")
    moments = [time.monotonic()]
    for name in ("a", "b", "c"):
        machine.run(f"rmdir /tmp/{name}")
        moments.append(time.monotonic())
    events, _ = ftrace.parse(t.hv("cat", machine.name, "trace"))
    assert len(events) == 3, events
    for before, event, after in zip(moments, events, moments[1:]):
        assert before - 1e-5 < event.time < after + 1e-5, f"{event.time} is not in {before} .. {after}"
    t.hv("echo", machine.name, "current_tracer", "nop")
    return max(after - before for before, after in zip(moments, moments[1:]))


def check_rights(t, machine):
    """Checks that no thread of the VMM nor the service has privileges, and that stat reports that. Returns the
    service's pid."""
    shown = {process["name"]: process for process in t.hv.stat(machine.name)["processes"]}
    names = ["hvtrace", f"hvtrace:{machine.name}"[:15], "hvtrace:broker"]
    assert list(shown) == names, shown
    assert shown["hvtrace"]["pid"] == machine.process.pid, shown
    for name in names[:2]:
        said = shown[name]
        assert said["uid"] and said["capabilities"] == "none" and said["seccomp"] and said["no_new_privs"], said
        pid = said["pid"]
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii", errors="replace") as file:
                status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
            assert "0" not in status["Uid"].split() + status["Gid"].split(), status
            for key in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
                assert int(status[key], 16) == 0, f"{name}, thread {thread}: {key} {status[key]}"
            assert status["NoNewPrivs"].strip() == "1" and status["Seccomp"].strip() == "2", status
        assert not os.listdir(f"/proc/{pid}/root"), "it has a file system"
        assert os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net"), "it has the host's network"
    return shown[names[1]]["pid"]


def detach(t, machine, _service):
    proof = t.hv("detach", machine.name)
    assert "no changes by hvtrace left" in proof, proof


def kill_service(t, machine, service):
    """The service dies while functions are traced: its broker restores everything, and the machine continues."""
    t.hv("echo", machine.name, "set_ftrace_filter", "vfs_*")
    t.hv("echo", machine.name, "current_tracer", "function")
    os.kill(service, signal.SIGKILL)
    machine.wait_said("its broker has put everything back")
    assert not os.path.exists(f"/run/hvtrace/{machine.name}")


def kill_vmm(t, machine, service):
    """The VMM dies while functions are traced: the session ends, and leaves nothing."""
    t.hv("echo", machine.name, "set_ftrace_filter", "vfs_*")
    t.hv("echo", machine.name, "current_tracer", "function")
    pids = [process["pid"] for process in t.hv.stat(machine.name)["processes"]]
    assert service in pids and len(pids) == 3, pids
    machine.process.kill()
    machine.process.wait()
    deadline = time.monotonic() + 60
    while left := [path for path in (f"/run/hvtrace/{machine.name}", *(f"/proc/{pid}" for pid in pids))
                   if os.path.exists(path)]:  # fmt: skip
        assert time.monotonic() < deadline, f"still there: {left}"
        time.sleep(0.05)


def boots(t, suite, *options, ends=detach, **more):
    """Does all checks of a machine with two vCPUs. Calls ENDS to end its session."""
    with OwnMachine(t.hv, suite, "--smp", "2", *options, **more) as m:
        assert m.run("grep -c ^processor /proc/cpuinfo").strip() == "2"
        m.wait_attached()
        service = check_rights(t, m)
        events = count_calls(t, m)
        widest = host_brackets(t, m)
        release = m.run("uname -r").strip()
        ends(t, m, service)
        if m.process.poll() is None:
            assert m.run("echo alive; cat /proc/uptime").startswith("alive")
            healthy(m)
            ends_well(m, status=int("-p" in options and ends is kill_service))
    t.note(f"{release}: {events} events; times of the host up to {widest * 1e3:.0f} ms apart")


@case(configs=OWN_GUESTS)
def own_bzimage(t):
    """bookworm's bzImage: two vCPUs, the expected calls, the host's clock, detach, power-off."""
    boots(t, "bookworm", "--memory", "0.75G")


def shadow_pages(pid):
    """Returns [(page that the guest sees, page of the RAM's file)] for the copies in an `hvtrace run` machine."""
    ram = next(fd for fd in os.scandir(f"/proc/{pid}/fd") if "hvtrace-ram" in os.readlink(fd.path))
    with open(f"/proc/{pid}/maps", encoding="ascii") as file:
        maps = re.findall(r"^(\w+)-(\w+) rw-s (\w+) .*memfd:hvtrace-shadow", file.read(), re.M)
    pages = []
    with open(f"/proc/{pid}/mem", "rb", 0) as seen, open(ram.path, "rb", 0) as behind:
        for start, end, offset in ([int(number, 16) for number in row] for row in maps):
            seen.seek(start)
            behind.seek(offset)
            pages += [(seen.read(4096), behind.read(4096)) for _ in range((end - start) // 4096)]
    return pages


def changed_bytes(pid):
    """Returns [number of differing bytes] for each replaced page that differs."""
    differ = [sum(a != b for a, b in zip(*page)) for page in shadow_pages(pid)]
    return [nr for nr in differ if nr]


@case(configs=OWN_GUESTS)
def own_shadow_text(t):
    """--patch=shadow: only copies are changed. The pages of the RAM stay unchanged, and are mapped again later."""
    with OwnMachine(t.hv, "bookworm", "--smp", "2", "--patch", "shadow") as m:
        m.wait_attached()
        # hvtrace redirects two kernel calls so that the guest waits before it hibernates (docs/operators/machine.md).
        before = changed_bytes(m.process.pid)
        assert len(before) <= 2 and sum(before) <= 8, f"bytes that differ before anything is traced: {before}"
        events = count_calls(t, m)
        t.hv("echo", m.name, "set_ftrace_filter", "vfs_read")
        t.hv("echo", m.name, "current_tracer", "function")
        site = t.hv.stat(m.name)["sites"]
        assert site["patched"] == 1, site
        pages = shadow_pages(m.process.pid)
        changed = changed_bytes(m.process.pid)
        # The five bytes of the site, and the four of the target of the call through which the guest's own ftrace reads
        # it. Some may be equal by chance.
        nr_pages, nr_bytes = len(changed) - len(before), sum(changed) - sum(before)
        assert nr_pages in range(1, 3) and nr_bytes in range(5, 10), f"bytes that differ: {before}, then {changed}"
        t.hv("echo", m.name, "set_ftrace_filter", "")
        t.hv("echo", m.name, "set_ftrace_pid", "")
        m.run("for i in 1 2 3; do cat /proc/interrupts >/tmp/x; done; insmod /modules/dummy.ko")
        nr = len(shadow_pages(m.process.pid))
        assert nr > 500, f"{nr} pages for all functions"
        detach(t, m, None)
        assert not shadow_pages(m.process.pid), "pages are still replaced"
        m.run("cat /proc/interrupts >/tmp/x; ip link add dummy9 type dummy")
        healthy(m)
        ends_well(m)
    t.note(f"{events} events; {len(pages)} pages for some functions, {nr} for all")


@case(configs=OWN_GUESTS)
def own_bzimage_of_trixie(t):
    """As above with trixie's bzImage. Its service is killed, although the command line requests a tracer: the machine
    continues, and its exit status reports that tracing failed."""
    boots(t, "trixie", "-p", "function_graph", "-l", "vfs_*", ends=kill_service)


@case(configs=OWN_GUESTS)
def own_vmlinux(t):
    """As above with the ELF file in trixie's bzImage, and the VMM is killed."""
    with tempfile.NamedTemporaryFile() as file:
        if not unpack_vmlinux(kernel_file("trixie")[0], file.name):
            raise Skip("trixie's bzImage is not packed with zstd")
        boots(t, "trixie", ends=kill_vmm, kernel=file.name)


def by_time(events):
    """Returns the events ordered by time, and a note on late ones. Each vCPU's events arrive in order, but if the host
    stops a vCPU in the middle of a record, the others wait for 20 ms only (docs/internals/ring.md, Order)."""
    last, newest, late = {}, events[0].time, []
    for e in events:
        assert e.time >= last.get(e.cpu, e.time), f"time goes back on its vCPU, from {last[e.cpu]}: {e}"
        last[e.cpu] = e.time
        newest = max(newest, e.time)
        if e.time < newest:
            late.append(newest - e.time)
    note = f", {len(late)} late, by up to {max(late) * 1e3:.0f} ms" if late else ""
    return sorted(events, key=lambda e: e.time), note


def trace_boot(t, suite, end):
    with tempfile.TemporaryDirectory() as directory:
        path = f"{directory}/trace"
        options = ["-p", "function", "--trace-boot", "-o", path]
        for glob in ("rest_init", "kernel_init", "do_one_initcall", "kernel_clone", "vfs_rmdir", *INIT):
            options += ["-l", glob]
        with OwnMachine(t.hv, suite, "--smp", "2", *options) as m:
            m.run("mkdir /tmp/last; rmdir /tmp/last")
            healthy(m)
            for file in ("available_filter_functions", "enabled_functions"):
                shown = {line.split()[0] for line in t.hv("cat", m.name, file).splitlines()}
                assert "vfs_rmdir" in shown and not shown & set(INIT), f"{file}: {shown & set(INIT)}"
            end(m)
        with open(path, encoding="utf-8") as file:
            events, lost = ftrace.parse(file.read())
    assert lost == 0, f"{lost} lost"
    events, late = by_time(events)
    names = [e.function for e in events]
    assert names[0] == "rest_init" and names.count("rest_init") == 1, names[:5]
    assert names.index("kernel_init") < names.index("do_one_initcall"), names[:20]
    assert names.count("do_one_initcall") > 100, f"{names.count('do_one_initcall')} initcalls"
    last = [e.function for e in events if e.pid != KTHREADD][-20:]  # kthreadd may create threads at any time
    assert "vfs_rmdir" in last, last
    assert {e.pid for e in events if e.function == "rest_init"} == {0}
    for function in INIT:
        assert names.count(function) == 1, f"{names.count(function)} calls of {function}"
        after = names.index("kernel_init" if function == INIT[0] else INIT[0])
        assert after < names.index(function) < names.index("vfs_rmdir"), function
    assert {e.caller for e in events if e.function in INIT[1:]} == {"do_one_initcall"}
    t.note(f"{len(events)} events, {names.count('do_one_initcall')} initcalls{late}")


@case(configs=OWN_GUESTS)
def own_trace_from_boot(t):
    """rest_init, kernel_init, the initcalls and the last calls before the reset are in the file, in order."""
    trace_boot(t, "bookworm", lambda machine: ends_well(machine, "reboot -f"))


@case(configs=OWN_GUESTS)
def own_trace_from_boot_of_trixie(t):
    """As above with trixie's kernel, and a detach at the end."""

    def detach(machine):
        assert "no changes by hvtrace left" in t.hv("detach", machine.name)
        ends_well(machine)

    trace_boot(t, "trixie", detach)


@case(configs=OWN_GUESTS)
def own_graph_from_boot(t):
    """Calls and returns from the boot on. Detach works although the first task's stack begins in freed code."""
    with tempfile.TemporaryDirectory() as directory:
        options = ["-p", "function_graph", "--trace-boot", "-o", f"{directory}/trace"]
        for glob in ("rest_init", "do_one_initcall", "vfs_rmdir", *INIT):
            options += ["-l", glob]
        with OwnMachine(t.hv, "bookworm", "--smp", "2", *options) as m:
            m.run("mkdir /tmp/last; rmdir /tmp/last")
            healthy(m)
            assert "no changes by hvtrace left" in t.hv("detach", m.name)
            assert m.run("echo alive").startswith("alive")
            healthy(m)
            ends_well(m)
        with open(f"{directory}/trace", encoding="utf-8") as file:
            text = file.read()
    calls = [line.split("|", 1)[1].rstrip(" {;") for line in text.splitlines() if "() {" in line or "();" in line]
    assert calls[0] == "  rest_init()" and calls.count("    do_one_initcall()") > 100, calls[:5]
    assert calls.count("      inet_init()") == 1 and calls[-1] == "  vfs_rmdir()", calls[-5:]
    t.note(f"{text.count(chr(10))} lines")


@case(configs=OWN_GUESTS)
def own_refusals(t):
    """Files that cannot be booted are refused with one line each."""
    kernel, initrd = kernel_file("bookworm")
    for words, says in (
        (["--kernel", "/nonexistent"], "/nonexistent: No such file"),
        (["--kernel", initrd], "neither a bzImage nor an ELF"),
        (["--kernel", "/dev/null"], "not a regular file"),
        (["--kernel", kernel, "--memory", "16"], "at least 64 MiB"),
        (["--kernel", kernel, "--memory", "900T"], "this host has"),
        (["--kernel", kernel, "--smp", "65"], "1 to 64"),
        (["--kernel", kernel, "--initrd", "/nonexistent"], "/nonexistent: No such file"),
        (["--kernel", kernel, "-p", "function", "-o", "/nonexistent/file"], "/nonexistent/file: No such file"),
    ):
        err = t.hv.fails("run", *words, says=[says])
        assert err.count("\n") == 1, err
    # These errors come after the kernel has started, because hvtrace does not know its functions before.
    words = ["--kernel", kernel, "--initrd", initrd, "--append", f"{APPEND} {SHELL}", "-p", "function"]
    for more, says in ((["-l", "no_such_*"], "set_ftrace_filter: "), (["-n", "no_such_*"], "set_ftrace_notrace: ")):
        t.hv.fails("run", *words, *more, says=[says])


def on_terminal(t, act):
    """Returns (exit status, whether the terminal is as before) of a machine that ACT(process, terminal) ends."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    kernel, _ = kernel_file("bookworm")
    process = subprocess.Popen([t.hv.path, "run", "--kernel", kernel, "--append", "console=ttyS0 earlyprintk=ttyS0"],
                               stdin=theirs, stdout=theirs, stderr=theirs, env=t.hv.env)  # fmt: skip
    try:
        said, deadline = b"", time.monotonic() + 120
        while b"Linux version" not in said and time.monotonic() < deadline:
            if select.select([ours], [], [], 1)[0]:
                said += os.read(ours, 65536)
        assert termios.tcgetattr(theirs)[3] & termios.ICANON == 0, "the terminal is still in line mode"
        act(process, ours)
        deadline = time.monotonic() + 60
        while process.poll() is None and time.monotonic() < deadline:
            if select.select([ours], [], [], 0.1)[0]:
                os.read(ours, 65536)
        return process.poll(), termios.tcgetattr(theirs) == before
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


@case(configs=OWN_GUESTS)
def own_terminal(t):
    """Ctrl-A x ends the machine with success, SIGTERM with that signal. The terminal is as before."""
    got = on_terminal(t, lambda _process, terminal: os.write(terminal, b"\x01x"))
    assert got == (0, True), got
    got = on_terminal(t, lambda process, _terminal: process.send_signal(signal.SIGTERM))
    assert got == (-signal.SIGTERM, True), got
