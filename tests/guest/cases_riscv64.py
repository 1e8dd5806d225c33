# SPDX-License-Identifier: GPL-2.0-or-later
"""riscv64 guests on the machine virt, under TCG: check, the function tracer, function_graph, the profile, stacks,
commands, and the features that are refused by name."""

import json
import re
import struct

import on_virt
from cases_stack import BEGIN, UNKNOWN, of_rounds, stacks
from lib import ftrace
from lib.domain import Config
from lib.suite import OWN_GUESTS, bad_dmesg, case
from lib.wait import until
from on_virt import a_guest, boot, digest, probe

# Debian has riscv64 kernels from trixie on. Their unused sites are two nops. In forky's kernel, only one half of a site
# changes.
RISCV64 = Config("trixie", arch="riscv64")
ONE_VCPU = Config("trixie", 1, arch="riscv64")
ONE_HALF = Config("forky", 1, arch="riscv64")

FIRST = "__riscv_sys_lseek"
FILTERS = ("vfs_*", "ksys_*", "*pipe*", "do_sys_open*", "path_open*", FIRST)
ROUNDS = 20

# A site: auipc t0, which is permanent in forky's kernel, and a nop or jalr t0.
AUIPC, JALR, NOP = 0x297, 0x282E7, 0x13

# Symbols of modules that the kernel skips in lookups (is_mapping_symbol() in its module_symbol.h).
PASSED_OVER = re.compile(rb"^\S+ \S (\$|\.L|L0)")


def check_symbols(t, guest):
    """hvtrace's symbols equal the guest's own. The channel is slow, so the guest sends only a digest of the kernel's."""
    ours = probe(t, guest, "--kallsyms").splitlines(True)
    theirs = guest.run("grep -vF '[' /proc/kallsyms | sha256sum").split()[0]
    assert digest(b"".join(line for line in ours if b"[" not in line)) == theirs, "/proc/kallsyms differs"
    modules = guest.run_bytes("grep -F '[' /proc/kallsyms").splitlines(True)
    modules = [line for line in modules if not PASSED_OVER.match(line)]
    assert modules and sorted(line for line in ours if b"[" in line) == sorted(modules), "symbols of modules differ"


@case(configs=OWN_GUESTS)
def riscv64_check(t):
    """check of a riscv64 guest: sites, symbols, modules and tasks equal the guest's own; nothing changes."""
    guest = boot(t, RISCV64)
    try:
        guest.run("insmod /modules/dummy.ko")
        functions = guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions")
        status, out, _ = t.hv.run("check", "--json", guest.name)
        found = json.loads(out)
        assert status == 0 and found["traceable"], out
        assert found["arch"] == "riscv64" and found["accel"] == "tcg", out
        assert found["release"] == guest.run("uname -r").strip(), found["release"]
        assert found["sites"]["total"] == functions.count(b"\n"), found["sites"]
        assert found["modules"] == 1 and found["btf_types"] and found["clock"] == "tsc", out
        assert not found["blockers"], found["blockers"]
        mode = {3: "sv39", 4: "sv48", 5: "sv57"}[found["page_levels"]]
        assert f"{mode}\n" in guest.run("grep mmu /proc/cpuinfo"), mode
        assert probe(t, guest, "--sites") == functions, "available_filter_functions differ"
        check_symbols(t, guest)
        tasks = probe(t, guest, "--tasks").decode().splitlines()
        pids = {int(pid) for pid in guest.run("ls /proc | grep -x '[0-9]*'").split()}
        assert len(pids & {int(line.split()[0]) for line in tasks}) > len(pids) * 3 // 4, tasks
        assert guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions") == functions
        assert not bad_dmesg(guest.run("dmesg")), guest.run("dmesg")
        t.note(f"{found['release']}: {found['sites']['total']} sites, {mode}")
    finally:
        t.lab.drop(guest)


class KernelMemory(on_virt.KernelMemory):
    """The kernel's text and the page tables within reach of its calls."""

    ram_gpa = 0x80000000

    def tables(self):
        """Returns the tables of the last 4 GiB, each for 1 GiB; b"" for a missing one."""
        found = []
        for start in range(0xFFFFFFFF00000000, 1 << 64, 1 << 30):
            table = self.gpa(self.symbols["swapper_pg_dir"])
            for level in range(self.levels, 2, -1):
                entry = struct.unpack("<Q", self.read(table + 8 * (start >> (12 + 9 * (level - 1)) & 511), 8))[0]
                table = entry >> 10 << 12 & 0xFFFFFFFFFFFFFF if entry & 1 else 0
                if not table:
                    break
            found.append(self.read(table, 4096) if table else b"")
        return found


def is_site_part(word):
    return word & 0xFFF == AUIPC or word & 0xFFFFF == JALR


def compare(before, after):
    """Text may differ at the guest's own static keys. No half of a site may differ, at any even address."""
    one, other = (struct.unpack(f"<{len(text) // 2}H", text[: len(text) // 2 * 2]) for text, _ in (before, after))
    changed = [i for i, (a, b) in enumerate(zip(one, other)) if a != b]
    parts = [(at, text[at] | text[at + 1] << 16) for i in changed for at in (i - 1, i) for text in (one, other)]
    sites = sorted({hex(2 * at) for at, word in parts if is_site_part(word)})
    assert not sites, f"{len(sites)} halves of sites differ, from the start of the text at {sites[:4]}"
    assert before[1] == after[1], "page tables differ"
    return len(changed)


def calls_with_callers(text, pid, own=False):
    """Returns [(function, its caller, further callers, ...)] of the rounds of a task's calls outside interrupts. The
    kernel's OWN unwinder begins in its ftrace_call, and omits the function and its caller."""
    found, call, lines = [], None, None
    for line in text.splitlines():
        if match := ftrace.LINE.match(line):
            call = (match["function"], match["caller"])
        elif match := BEGIN.match(line):
            lines = []
            if int(match[1]) == pid and ftrace.are_of_task(match[2]):
                found.append((call, lines))
        elif line.startswith(" => "):
            lines.append(line[4:])
    if own:
        found = [(*call, *lines[lines.index("ftrace_call") + 1 :]) for call, lines in found]
    else:
        assert all(tuple(lines[:2]) == call for call, lines in found), [x for x in found if tuple(x[1][:2]) != x[0]][:1]
        found = [tuple(lines) for _, lines in found]
    at = [i for i, lines in enumerate(found) if lines[0] == FIRST]
    assert len(at) > ROUNDS / 2, f"{len(at)} {FIRST} among {len(found)} stacks"
    return found[at[0] : at[-1]]


@case(configs=OWN_GUESTS)
def riscv64_agrees_with_own_ftrace(t):
    """func_stack_trace: calls, callers and their order equal the guest's own. With function_graph as the tracer, the
    command stacktrace shows the same callers. Stacks of interrupts, which span two kernel stacks, are complete.
    Commands work. Text and page tables are unchanged."""
    with a_guest(t, ONE_VCPU) as test:
        guest, words, options = test.guest, ("syscalls", ROUNDS), ("func_stack_trace",)
        memory = KernelMemory(t, guest)
        before = memory.snapshot()
        own, own_pid = ftrace.own_trace(guest, words, FILTERS, options=options)
        with test.attach() as traced:
            assert traced.text("available_tracers").split() == ["function_graph", "function", "nop"]
            ours, our_pid = ftrace.hvtrace_trace(traced, guest, words, FILTERS, options=options)
            interrupted = whole_interrupts(traced, guest)
        one, other = calls_with_callers(own, own_pid, own=True), calls_with_callers(ours, our_pid)
        differ = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
        assert len(one) > 10 * ROUNDS, f"only {len(one)} stacks by the guest itself"
        assert one == other, f"{len(one)}, {len(other)} stacks; from {differ}: {one[differ:][:2]} and {other[differ:][:2]}"
        with test.attach() as traced:
            below_graph = (*FILTERS, *(f"{glob}:stacktrace" for glob in (FIRST, "vfs_*")))
            ours, our_pid = ftrace.hvtrace_trace(traced, guest, words, below_graph, tracer="function_graph")
        below = of_rounds(ours, our_pid, FIRST)
        expected = [lines for lines in other if lines[0] == FIRST or lines[0].startswith("vfs_")]
        assert below == expected, f"with a graph {len(below)} stacks, not {len(expected)}: {below[:2]} and {expected[:2]}"
        with test.attach() as traced:
            refused_by_name(t, guest)
            commands(traced, guest)
        changed = compare(before, memory.snapshot())
        t.note(f"{len(one)} stacks agree, in order, {len(below)} with a graph; {interrupted} stacks of interrupts are complete")
        t.note(f"{changed} halfwords changed by the guest itself")


def whole_interrupts(traced, guest):
    """Returns the number of stacks of timer interrupts. All must be complete."""

    def ticks_so_far():
        guest.run("sleep 1")
        return [lines for _, _, lines in stacks(traced.text("trace"))]

    traced.echo("set_ftrace_filter", "hrtimer_interrupt")
    traced.echo("current_tracer", "function")
    traced.echo("trace_options", "func_stack_trace")
    ticks = until(lambda: len(found := ticks_so_far()) > 10 and found)
    assert ticks, "too few timer interrupts"
    cut = [lines for lines in ticks if lines[-1] == UNKNOWN]
    assert not cut, f"{len(cut)} of {len(ticks)} interrupts end early: {cut[:1]}"
    return len(ticks)


def agree_in_order(test):
    """A session lists the guest's own functions, and records the calls that the guest's own function tracer records."""
    guest = test.guest
    functions = guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions")
    own, own_pid = ftrace.own_trace(guest, ("syscalls", ROUNDS), FILTERS)
    with test.attach() as traced:
        assert traced.cat("available_filter_functions") == functions, "available_filter_functions differ"
        assert traced.text("available_tracers").split() == ["function_graph", "function", "nop"]
        ours, our_pid = ftrace.hvtrace_trace(traced, guest, ("syscalls", ROUNDS), FILTERS)
    own_events, _ = ftrace.parse(own)
    our_events, lost = ftrace.parse(ours)
    one, other = (ftrace.rounds(e, p, FIRST) for e, p in ((own_events, own_pid), (our_events, our_pid)))
    assert lost == 0 and len(one) > 10 * ROUNDS, f"{lost} lost, {len(one)} calls"
    assert {e.comm for e in our_events} == {"workload"}, f"comms: { {e.comm for e in our_events} }"
    differ = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    assert one == other, f"{len(one)}, {len(other)} calls; from {differ}: {one[differ:][:3]} and {other[differ:][:3]}"
    return len(one)


def refused_by_name(t, guest):
    t.hv.fails("echo", guest.name, "current_tracer", "irqsoff", says=["irqsoff: not in this kernel"])
    t.hv.fails("echo", guest.name, "options/stacktrace", "1", says=["stacktrace"])
    t.hv.fails("echo", guest.name, "events/sched/sched_switch/enable", "1", says=["recording events is not supported yet for riscv64 guests"])


def commands(traced, guest):
    """Like arm64_commands, without function_graph."""
    on_virt.follow_forks(traced, guest)
    traced.echo("set_ftrace_filter", "vfs_open:stacktrace:3")
    guest.run("for i in 1 2 3 4 5; do cat /proc/uptime; done")
    found = stacks(traced.text("trace"))
    assert [lines[0] for _, _, lines in found] == 3 * ["vfs_open"], f"stacks: {found}"
    assert all(lines[-1] == "handle_exception" for _, _, lines in found), f"stacks: {found}"
    traced.echo("set_ftrace_filter", "!vfs_open:stacktrace:0", append=True)
    traced.echo("set_ftrace_filter", "vfs_rmdir:snapshot:1", append=True)
    for command in ("vfs_symlink:traceoff", "vfs_unlink:traceon"):
        traced.echo("set_ftrace_filter", command, append=True)
    traced.echo("set_ftrace_filter", "vfs_mkdir", "vfs_rmdir")
    traced.echo("current_tracer", "function")
    guest.run("mkdir /tmp/a; rmdir /tmp/a")
    until(lambda: "vfs_mkdir" in traced.text("snapshot"))
    guest.run("ln -s a /tmp/l; mkdir /tmp/b; rm /tmp/l; rmdir /tmp/b")
    of = [[e.function for e in ftrace.parse(traced.text(file))[0]] for file in ("snapshot", "trace")]
    assert of == [["vfs_mkdir"], 2 * ["vfs_rmdir"]], f"snapshot and trace: {of}"


@case(configs=(), further=OWN_GUESTS)
def riscv64_all_functions(t):
    """All functions on two busy vCPUs, with a module: tracers are switched on and off, and no site is refused. After
    kill -9 the guest continues, and recover restores every byte."""
    with a_guest(t, RISCV64) as test:
        on_virt.all_functions(test, KernelMemory, compare, ("function_graph", "nop", "function"))
        t.notes += test.notes


@case(configs=OWN_GUESTS)
def riscv64_beside_own_ftrace(t):
    """A kernel in which one half of a site changes: calls and their order equal the guest's own. The guest's own ftrace
    is enabled for a function that hvtrace traces, and disabled again. After detach, it records the function's calls as
    it did before attach."""
    files = "cd /sys/kernel/tracing; "
    begin = files + "echo vfs_read >set_ftrace_filter; echo function >current_tracer"
    count = files + "echo >trace; head -n 1 /proc/uptime >/dev/null; echo 0 >tracing_on; grep -c vfs_read trace || true; echo 1 >tracing_on"
    end = files + "echo nop >current_tracer; echo >set_ftrace_filter"
    with a_guest(t, ONE_HALF) as test:
        guest = test.guest
        t.note(f"{agree_in_order(test)} calls agree, in order")

        def own_calls():
            guest.run(begin)
            calls = int(guest.run(count))
            guest.run(end)
            return calls

        before = own_calls()
        t.hv("attach", guest.name)
        t.hv("echo", guest.name, "set_ftrace_filter", "vfs_read vfs_write")
        t.hv("echo", guest.name, "current_tracer", "function")
        own_calls()
        said = t.hv.end("detach", guest.name, test.disturb, test.refusals)
        assert "no changes by hvtrace left" in said, said
        assert before > 0 and own_calls() == before, before


@case(configs=OWN_GUESTS)
def riscv64_graph_agrees_with_own(t):
    """One workload, a few globs: trees of calls and their order equal the guest's own. Then a profile counts as many
    calls."""
    with a_guest(t, ONE_VCPU) as test:
        on_virt.graph_agrees(test, FILTERS, FIRST)
        t.notes += test.notes


@case(configs=(), further=OWN_GUESTS)
def riscv64_graph_ends_with_sleepers(t):
    """All functions. Tasks that sleep in traced functions get their return addresses back after detach, and after kill
    -9 and recover, and continue. The text is as before."""
    with a_guest(t, RISCV64) as test:
        on_virt.ends_with_sleepers(test, KernelMemory(t, test.guest), compare)
        t.notes += test.notes
