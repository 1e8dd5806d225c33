# SPDX-License-Identifier: GPL-2.0-or-later
"""Shared code for guests on the machine virt, of any architecture: starting a guest, running kernel_probe, and checks
that all architectures have in common. The cases are in cases_arm64.py and cases_riscv64.py."""

import contextlib
import hashlib
import json
import os
import re
import subprocess

from cases_graph import Sleepers, our_trees, own_trees
from lib import ftrace, graph
from lib.domain import MACHINES, built_kernel
from lib.suite import Skip, Test, bad_dmesg
from lib.wait import until

ROUNDS = 20


def boot(t, config):
    emulator = MACHINES[config.arch].emulator
    if not os.access(emulator, os.X_OK):
        raise Skip(f"no {emulator} (qemu-system-arm and qemu-system-misc have it)")
    if config.suite.startswith("built:") and not built_kernel(config.suite):
        raise Skip(f"no such kernel was built: scripts/kernel-build {config.suite.removeprefix('built:')}")
    guest = t.lab.domain(config)
    guest.start()
    guest.run("dmesg -c >/dev/null")
    return guest


@contextlib.contextmanager
def a_guest(t, config):
    guest = boot(t, config)
    try:
        yield Test(t.lab, t.hv, guest)
        assert not bad_dmesg(guest.run("dmesg")), guest.run("dmesg")
        assert guest.run("echo alive").strip() == "alive"
    finally:
        t.lab.drop(guest)


def probe(t, guest, option):
    path = os.path.join(t.hv.helpers, "kernel", "kernel_probe")
    return subprocess.run([path, guest.name, option], capture_output=True, check=True, timeout=120).stdout


class KernelMemory:
    """The kernel's text and the page tables around it, read from QEMU's memory. Each architecture defines ram_gpa and
    tables()."""

    ram_gpa = None
    root_gpa = None

    def __init__(self, t, guest, page_bits=12):
        self.page_bits = page_bits
        # Not from the guest's own file, which an emulated guest takes long to make; arm64_check compares them.
        lines = probe(t, guest, "--kallsyms").decode()
        found = re.findall(r"^([0-9a-f]{16}) . (_text|_stext|_etext|swapper_pg_dir)$", lines, re.M)
        self.symbols = {name: int(address, 16) for address, name in found}
        self.symbols.setdefault("_text", self.symbols["_stext"])
        self.code_gpa = int(re.search(r"([0-9a-f]+)-", guest.run("grep 'Kernel code' /proc/iomem"))[1], 16)
        self.levels = json.loads(t.hv("check", "--json", guest.name))["page_levels"]
        if "swapper_pg_dir" not in self.symbols:  # uses the table of a vCPU
            self.root_gpa = int(re.search(r" root (0x[0-9a-f]+)", probe(t, guest, "").decode())[1], 16)
        self.modules = [int(at, 16) for at in re.findall(r" Live (0x[0-9a-f]+)", guest.run("cat /proc/modules"))]
        self.path = f"/proc/{guest.pid}/mem"
        hva = re.search(r"is (0x[0-9a-f]+)", guest.monitor(f"gpa2hva {self.ram_gpa:#x}"))
        self.base = int(hva[1], 16) - self.ram_gpa

    def read(self, gpa, size):
        with open(self.path, "rb", buffering=0) as file:
            return os.pread(file.fileno(), size, self.base + gpa)

    def gpa(self, gva):
        # "Kernel code" in /proc/iomem begins with _text or _stext. Both are in the same 2 MiB.
        return gva - (self.symbols["_text"] & ~0x1FFFFF) + (self.code_gpa & ~0x1FFFFF)

    def text(self):
        return self.read(self.gpa(self.symbols["_text"]), self.symbols["_etext"] - self.symbols["_text"])

    def tables(self):
        """The tables that can contain hvtrace's entries."""
        raise NotImplementedError

    def snapshot(self):
        return self.text(), self.tables()


def digest(data):
    return hashlib.sha256(data).hexdigest()


def follow_forks(traced, guest):
    """With function-fork, the calls of a task and its children are recorded, and no other calls."""
    traced.echo("set_ftrace_filter", "vfs_*")
    traced.echo("current_tracer", "function")
    script = "while [ ! -e /tmp/go ]; do sleep 0.1; done; (cat /proc/version; read end </tmp/end); cat /proc/uptime"
    guest.run(f"mkfifo /tmp/end; ({script}) >/dev/null 2>&1 & echo $! >/tmp/parent")
    parent = int(guest.run("cat /tmp/parent"))
    traced.echo("set_ftrace_pid", str(parent))
    traced.echo("options/function-fork", "1")
    other = int(guest.run("touch /tmp/go; sh -c 'echo $$; exec cat /proc/uptime' | head -n 1"))
    assert until(lambda: len(traced.text("set_ftrace_pid").split()) > 1), "the child is not in set_ftrace_pid"
    guest.run(f"echo >/tmp/end; while [ -d /proc/{parent} ]; do sleep 0.1; done; rm /tmp/end /tmp/go")
    traced.echo("options/function-fork", "0")
    pids = {event.pid for event in ftrace.parse(traced.text("trace"))[0]}
    assert parent in pids and len(pids) > 3 and other not in pids, f"{parent} and its children, not {other}: {pids}"
    traced.echo("current_tracer", "nop")
    traced.echo("set_ftrace_pid", "")
    traced.echo("set_ftrace_filter", "")
    traced.echo("trace", "")


def module_is_traced(traced, guest):
    """A function of the module dummy, which is loaded again during the session, is recorded at its new address, and no
    function is refused."""
    guest.run("rmmod dummy; insmod /modules/dummy.ko")
    traced.echo("set_ftrace_filter", ":mod:dummy")
    for tracer, line in (("function", "dummy_get_stats64 <-dev_get_stats"), ("function_graph", "dummy_get_stats64 [dummy]();")):
        traced.echo("current_tracer", tracer)
        guest.run("cat /proc/net/dev")
        text, sites = traced.text("trace"), traced.stat()["sites"]
        assert line in text, f"{tracer}: {text}"
        assert sites["patched"] > 1 and sites["refused"] == 0, f"{tracer}: {sites}"
    traced.echo("current_tracer", "nop")
    traced.echo("set_ftrace_filter", "")
    traced.echo("trace", "")


def graph_agrees(test, filters, first, check=lambda: None):
    """Trees of calls and their order equal the guest's own. Then a profile of FIRST counts as many calls. CHECK is
    called after the attach."""
    own, _ = own_trees(test, filters)
    with test.attach() as traced:
        check()
        ours, _ = our_trees(test, traced, filters)
        traced.echo("set_ftrace_filter", first)
        traced.echo("function_profile_enabled", "1")
        ftrace.go(test.guest, ftrace.start_workload(test.guest, "syscalls", ROUNDS))
        traced.echo("function_profile_enabled", "0")
        counted = re.findall(rf"^ +{first} +(\d+) ", traced.text("trace_stat/function0"), re.M)
        assert counted and int(counted[0]) >= ROUNDS, traced.text("trace_stat/function0")
    one, other = graph.rounds(own, first), graph.rounds(ours, first)
    nr = sum(1 for _ in graph.walk(one))
    differ = graph.difference(one, other)
    assert nr > 10 * ROUNDS and not differ, f"{nr} calls; (own, hvtrace): {differ}"
    test.note(f"{nr} calls agree; {first} counted {counted[0]} times")


@contextlib.contextmanager
def load(guest):
    """Keeps two tasks busy on two vCPUs."""
    pids = [ftrace.start_workload(guest, *words, 100000000) for words in (("forkstorm",), ("threads",))]
    guest.run(f"kill -USR1 {pids[0]} {pids[1]}")
    try:
        yield
        guest.run(f"kill -0 {pids[0]} {pids[1]}", timeout=ftrace.LONG_SECONDS)  # they have run all the time
    finally:
        guest.run(
            f"kill {pids[0]} {pids[1]}; for pid in {pids[0]} {pids[1]}; do while [ -d /proc/$pid ]; do sleep 0.1; done; done",
            timeout=ftrace.LONG_SECONDS,
        )


def all_functions(test, make_memory, compare, tracers):
    """All functions on two busy vCPUs, with a module: TRACERS are switched on and off, and no site is refused. After
    kill -9 the guest continues, and recover restores every byte: COMPARE finds no changed site in the result of
    MAKE_MEMORY."""
    guest, hv = test.guest, test.hv
    guest.run("insmod /modules/dummy.ko")
    memory = make_memory(test, guest)
    before = memory.snapshot()
    with test.attach() as traced, load(guest):
        for tracer in tracers:
            traced.echo("current_tracer", tracer)
            guest.run("ls / >/dev/null", timeout=ftrace.LONG_SECONDS)
        events, _ = ftrace.parse(traced.text("per_cpu/cpu0/trace", timeout=ftrace.LONG_SECONDS))
        stat = traced.stat()
        assert events and stat["sites"]["patched"] > 35000 and not stat["sites"]["refused"], stat
    compare(before, memory.snapshot())
    hv("attach", guest.name)
    hv("echo", guest.name, "current_tracer", "function")
    hv.kill_session(guest.name)
    assert guest.run("ls / >/dev/null; echo alive", timeout=ftrace.LONG_SECONDS).strip() == "alive"
    said = test.recover()
    assert "no changes by hvtrace left" in said, said
    compare(before, memory.snapshot())
    test.note(f"{stat['sites']['patched']} sites; {said.splitlines()[0]}")


def ends_with_sleepers(test, memory, compare):
    """A graph of all functions. Tasks that sleep in traced functions get their return addresses back after detach, and
    after kill -9 and recover, and continue. COMPARE finds no changed site in the text of MEMORY."""
    guest, hv = test.guest, test.hv
    before = memory.snapshot()
    for verb in ("detach", "recover"):
        sleepers = Sleepers(guest)
        sleepers.start("before")
        hv("attach", guest.name)
        hv("echo", guest.name, "current_tracer", "function_graph")
        sleepers.start("inside")
        if verb == "recover":
            hv.kill_session(guest.name)
        said = hv.end(verb, guest.name, test.disturb, test.refusals)
        assert "return addresses on the kernel's stacks put back" in said, f"{verb} printed: {said}"
        assert "no changes by hvtrace left" in said, said
        sleepers.wake()
        compare(before, memory.snapshot())
        test.note(f"{verb}: {said.splitlines()[1]}")
