# SPDX-License-Identifier: GPL-2.0-or-later
"""arm64 guests on the machine virt, under TCG: check, the tracers, and the features that are refused by name."""

import json
import re
import struct

import on_virt
from cases_graph import Sleepers, our_trees
from cases_stack import UNKNOWN, agree, stacks
from lib import ftrace, graph
from lib.domain import Config
from lib.suite import OWN_GUESTS, Test, bad_dmesg, case
from lib.wait import until
from on_virt import a_guest, boot, digest, probe

# Debian's arm64 kernel of bookworm has no CONFIG_KALLSYMS_ALL, so it has no names of data.
WITHOUT_NAMES = Config("bookworm", 1, arch="arm64")
# These guests are KVM hosts: their kernels run in EL2. The others run in EL1.
ARM64 = Config("trixie", arch="arm64", in_el2=True)
ONE_VCPU = Config("trixie", 1, arch="arm64", in_el2=True)
QARMA = Config("trixie", arch="arm64", in_el2=True, qarma=True)

# Near this image there is room for veneers only, so all functions call veneers.
NOT_MOVED = Config("trixie", arch="arm64", cmdline="nokaslr")
PAGES_16K = Config("trixie:linux-image-arm64-16k", arch="arm64", cmdline="kpti=1", in_turn=True)
NOT_MOVED_16K = Config("trixie:linux-image-arm64-16k", arch="arm64", cmdline="kpti=1 nokaslr", in_turn=True)
# Debian has no such kernels: scripts/kernel-build makes them. Loading crc7 makes the kernel create a page table for
# modules. crc7 itself has no sites, like all code in the kernel's lib/.
SHADOW_STACKS = Config("built:arm64-scs", 1, arch="arm64", modules=("crc7",))
# Its kernel uses shadow call stacks only if the CPU does not sign.
DYNAMIC_SHADOW = Config("built:arm64-scs-dynamic", 1, arch="arm64", cmdline="arm64.nopauth", modules=("crc7",))
DYNAMIC_SIGNED = Config("built:arm64-scs-dynamic", 1, arch="arm64", modules=("crc7",))
PAGES_64K = Config("built:arm64-64k", 1, arch="arm64", cmdline="kpti=1", modules=("crc7",))

RAM_GPA = 0x40000000  # of the machine virt
BL, BRANCH = 0x94000000, 0xFC000000
TABLE = 0x0000FFFFFFFFF000  # address in a table entry

PACIASP, TO_SHADOW = 0xD503233F, 0xF800865E  # str x30, [x18], #8

FIRST = "__arm64_sys_lseek"
# Functions that interrupts do not call: calls between an interrupt and its softirqs look like calls of the task.
FILTERS = ("vfs_*", "ksys_*", "*pipe*", "do_sys_open*", "do_filp_*", FIRST)
ROUNDS = 20
FORMATS = "cd /sys/kernel/tracing; cat available_events events/sched/*/format events/irq/*/format events/ftrace/*/format | sha256sum"


class KernelMemory(on_virt.KernelMemory):
    """Adds the tables around the image and the modules. Their entries map 2 MiB each, 32 MiB with 16 KiB pages, or
    single pages with 64 KiB pages."""

    ram_gpa = RAM_GPA

    def tables(self):
        """Returns {first address covered by a table: its entries}."""
        around = [at + distance for at in self.modules for distance in (-63 << 20, 0, 127 << 20)]
        span = 1 << (2 * self.page_bits - 3 if self.page_bits == 16 else 3 * self.page_bits - 6)
        return {at: self.table(at) for at in {at // span * span for at in (self.symbols["_text"], *around)}}

    def table(self, at):
        table, bits = self.root_gpa or self.gpa(self.symbols["swapper_pg_dir"]), self.page_bits - 3
        for level in range(self.levels, 1 if self.page_bits == 16 else 2, -1):
            shift = self.page_bits + bits * (level - 1)
            # With the maximum number of levels, 52-bit addresses use only a part of the first table.
            index = (at & (1 << 52) - 1) >> shift & (1 << bits) - 1
            entry = struct.unpack("<Q", self.read(table + 8 * index, 8))[0]
            if entry & 3 != 3:
                return (0,) * (1 << bits)
            table = entry & TABLE & -(1 << self.page_bits)
        return struct.unpack(f"<{1 << bits}Q", self.read(table, 1 << self.page_bits))


def is_own_table(entry):
    """Returns whether the entry leads to one of the guest's own tables. These are in RAM; hvtrace's region is not."""
    return entry & 3 == 3 and RAM_GPA <= entry & TABLE < RAM_GPA + (1 << 32)


def words(data):
    return struct.unpack(f"<{len(data) // 4}I", data[: len(data) // 4 * 4])


def compare(before, after):
    """Text may differ at the guest's own static keys, which are a nop or a `b`. No `bl` may be added or removed.
    Entries of page tables may differ where the guest needs a table for a module that it has loaded again."""
    changed = [(a, b) for a, b in zip(words(before[0]), words(after[0])) if a != b]
    calls = [(hex(a), hex(b)) for a, b in changed if BL in (a & BRANCH, b & BRANCH)]
    assert not calls, f"{len(calls)} calls in the text differ: {calls[:4]}"
    for start, entries in before[1].items():
        differing = [(hex(a), hex(b)) for a, b in zip(entries, after[1][start]) if a != b and (a or not is_own_table(b))]
        assert not differing, f"{len(differing)} entries differ: {differing[:4]}"
    return len(changed)


def host_is_injected(guest):
    """Calls are injected into a process of an arm64 host, and into the thread of a KVM vCPU of that host. Both
    continue."""
    guest.run("test_call 0", timeout=ftrace.LONG_SECONDS)
    pid = guest.run("guest_arm64 >/tmp/said 2>&1 & echo $!").strip()
    assert until(lambda: "runs" in guest.run("cat /tmp/said"))
    guest.run(f"test_call {pid} && kill -0 {pid} && kill {pid}", timeout=ftrace.LONG_SECONDS)


def guests_of_the_guest(test):
    """A vCPU executes a nested guest in EL0, which looks like a process of the guest. hvtrace waits until the vCPU is
    back in the guest. The function that entered the nested guest returns correctly after detach."""
    guest = test.guest
    memory = KernelMemory(test, guest)
    before = memory.snapshot()
    pid = guest.run("guest_arm64 user >/tmp/said 2>&1 & echo $!").strip()
    assert until(lambda: "runs" in guest.run("cat /tmp/said"))
    with test.attach() as traced:
        traced.echo("set_ftrace_filter", "kvm_arch_vcpu_ioctl_run")
        traced.echo("current_tracer", "function_graph")
        assert until(lambda: traced.text("trace").count("kvm_arch_vcpu_ioctl_run();") > 1), traced.text("trace")
    guest.run(f"kill -0 {pid} && kill {pid}")
    compare(before, memory.snapshot())


@case(configs=OWN_GUESTS)
def arm64_check(t):
    """check of an arm64 guest: sites, symbols, modules and tasks equal the guest's own; nothing changes. The variables
    that hvtrace can find without names are at the addresses of their symbols. Then the guest runs nested guests."""
    guest = boot(t, ARM64)
    try:
        guest.run("insmod /modules/dummy.ko")
        functions = guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions")
        status, out, _ = t.hv.run("check", "--json", guest.name)
        found = json.loads(out)
        assert status == 0 and found["traceable"], out
        assert found["arch"] == "aarch64" and found["accel"] == "tcg", out
        assert found["release"] == guest.run("uname -r").strip(), found["release"]
        assert found["sites"]["total"] == functions.count(b"\n"), found["sites"]
        assert found["modules"] == 1 and found["btf_types"] and found["clock"] == "tsc", out
        assert not found["blockers"], found["blockers"]
        assert probe(t, guest, "--sites") == functions, "available_filter_functions differ"
        # The channel is slow, so the guest sends only a digest of its list. The kernel skips $x and $d in lookups in
        # modules.
        ours = probe(t, guest, "--kallsyms").splitlines(True)
        theirs = guest.run("grep -vF '[' /proc/kallsyms | sha256sum").split()[0]
        assert digest(b"".join(line for line in ours if b"[" not in line)) == theirs, "/proc/kallsyms differs"
        places = re.findall(r"^(\S+) +0x\w+ (.*)$", probe(t, guest, "--unnamed").decode(), re.M)
        assert len(places) >= 22 and {said for _, said in places} == {"right"}, f"without names: {places}"
        modules = guest.run_bytes("grep -F '[' /proc/kallsyms | grep -vF '$'").splitlines(True)
        assert sorted(line for line in ours if b"[" in line) == sorted(modules), "symbols of modules differ"
        tasks = probe(t, guest, "--tasks").decode().splitlines()
        pids = {int(pid) for pid in guest.run("ls /proc | grep -x '[0-9]*'").split()}
        assert len(pids & {int(line.split()[0]) for line in tasks}) > len(pids) * 3 // 4, tasks
        assert guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions") == functions
        assert not bad_dmesg(guest.run("dmesg")), guest.run("dmesg")
        host_is_injected(guest)
        guests_of_the_guest(Test(t.lab, t.hv, guest))
        assert not bad_dmesg(guest.run("dmesg")), guest.run("dmesg")
        t.note(f"{found['release']}: {found['sites']['total']} sites, {found['page_levels']} levels of page tables")
    finally:
        t.lab.drop(guest)


def enable_ivshmem(guest):
    """Enables the memory of the ivshmem device as root, because Linux 6.1 and kernels with few drivers do not."""
    guest.run("for d in /sys/bus/pci/devices/*; do if [ $(cat $d/device) = 0x1110 ]; then echo 1 >$d/enable; fi; done")


def larger_pages(t, config, page_bits):
    """Another page table format, KPTI, a module, and vCPUs busy in user mode: the kernel is found and traced. Stacks
    and a profile are right. After a graph of all functions, and after kill -9 and recover, every byte is as before."""
    with a_guest(t, config) as test:
        guest, stack = test.guest, ("func_stack_trace",)
        enable_ivshmem(guest)
        for module in config.modules:
            guest.run(f"insmod /modules/{module}.ko")
        # The channel is slow, so the guest sends only a digest.
        guest.run("cat /sys/kernel/tracing/available_filter_functions >/tmp/functions")
        total, functions = int(guest.run("wc -l </tmp/functions")), guest.run("sha256sum </tmp/functions").split()[0]
        own, own_pid = ftrace.own_trace(guest, ("syscalls", ROUNDS), FILTERS, options=stack)
        memory = KernelMemory(t, guest, page_bits)
        before = memory.snapshot()
        with test.attach() as traced:
            assert digest(traced.cat("available_filter_functions")) == functions, "available_filter_functions differ"
            ours, our_pid = ftrace.hvtrace_trace(traced, guest, ("syscalls", ROUNDS), FILTERS, options=stack)
            nr = agree(own, own_pid, ours, our_pid, FIRST)
            traced.echo("set_ftrace_filter", FIRST)
            traced.echo("function_profile_enabled", "1")
            ftrace.go(guest, ftrace.start_workload(guest, "syscalls", ROUNDS))
            traced.echo("function_profile_enabled", "0")
            texts = [traced.text(f"trace_stat/function{cpu}") for cpu in range(config.vcpus)]
            counted = [int(hits) for text in texts for hits in re.findall(rf"^ +{FIRST} +(\d+) ", text, re.M)]
            assert sum(counted) >= ROUNDS, texts
            if "dummy" in config.modules:
                on_virt.module_is_traced(traced, guest)
        compare(before, memory.snapshot())
        guest.run("for i in 1 2; do while :; do :; done >/dev/null 2>&1 & echo $! >>/tmp/busy; done")
        found = json.loads(t.hv("check", "--json", guest.name))
        assert found["kpti"] and found["sites"]["total"] == total and not found["blockers"], found
        sleepers = Sleepers(guest)
        t.hv("attach", guest.name)
        t.hv("echo", guest.name, "current_tracer", "function_graph")
        guest.run("kill $(cat /tmp/busy)", timeout=ftrace.LONG_SECONDS)
        sleepers.start("inside")
        t.hv.kill_session(guest.name)
        said = t.hv.end("recover", guest.name, test.disturb, test.refusals)
        assert "return addresses on the kernel's stacks put back" in said and "no changes by hvtrace left" in said, said
        sleepers.wake()
        compare(before, memory.snapshot())
        t.note(f"{found['release']}: {total} sites, {found['page_levels']} levels of page tables; {nr} stacks agree")


@case(configs=OWN_GUESTS)
def arm64_pages_of_16_kib(t):
    """A kernel with 16 KiB pages. hvtrace's own tables map the region."""
    larger_pages(t, PAGES_16K, 14)


@case(configs=(), further=OWN_GUESTS)
def arm64_16_kib_not_moved(t):
    """As above, with an image that was not moved: the region is below it, and all functions call veneers."""
    larger_pages(t, NOT_MOVED_16K, 14)


@case(configs=OWN_GUESTS)
def arm64_pages_of_64_kib(t):
    """A kernel with 64 KiB pages and 52-bit addresses. Entries for single pages next to the image map the region."""
    larger_pages(t, PAGES_64K, 16)


@case(configs=OWN_GUESTS)
def arm64_shadow_call_stacks(t):
    """A kernel that signs return addresses and also returns through shadow call stacks: trees of calls equal the
    guest's own. Sleeping tasks get their addresses back in both places, after detach and after kill -9 and recover."""
    with a_guest(t, SHADOW_STACKS) as test:
        guest = test.guest
        guest.run("zcat /proc/config.gz | grep -qx CONFIG_SHADOW_CALL_STACK=y")
        enable_ivshmem(guest)
        guest.run("insmod /modules/crc7.ko")
        on_virt.graph_agrees(test, FILTERS, FIRST)
        on_virt.ends_with_sleepers(test, KernelMemory(t, guest), compare)
        t.notes += test.notes


@case(configs=OWN_GUESTS)
def arm64_dynamic_shadow_call_stacks(t):
    """A kernel that uses shadow call stacks if the CPU cannot sign return addresses: on both kinds of CPU, call trees
    equal the guest's own, and sleeping tasks get their addresses back."""
    for config, first, second in ((DYNAMIC_SHADOW, TO_SHADOW, PACIASP), (DYNAMIC_SIGNED, PACIASP, TO_SHADOW)):
        with a_guest(t, config) as test:
            guest = test.guest
            enable_ivshmem(guest)
            guest.run("insmod /modules/crc7.ko")
            memory = KernelMemory(t, guest)
            text = words(memory.text())
            nr, other = text.count(first), text.count(second)
            assert nr > 1000 and other < nr // 100, f"{nr} and {other} of {first:#x} and {second:#x}"
            on_virt.graph_agrees(test, FILTERS, FIRST)
            on_virt.ends_with_sleepers(test, memory, compare)
            t.notes += [f"{config.cmdline or 'signed'}: {nr} functions", *test.notes]


@case(configs=OWN_GUESTS)
def arm64_agrees_with_own_ftrace(t):
    """hvtrace finds the variables of a kernel that has names for functions only, with no module and with one. One
    workload, a few globs: the calls and their order equal the guest's own, and a graph works. Text and page tables are
    unchanged."""
    with a_guest(t, WITHOUT_NAMES) as test:
        guest = test.guest
        enable_ivshmem(guest)
        found = json.loads(t.hv("check", "--json", guest.name))
        assert found["modules"] == 0 and found["clock"] == "tsc" and not found["blockers"], found
        assert {"modules", "cd", "module_alloc_base", "__boot_cpu_mode"} < set(found["unnamed_data"]), found
        formats = guest.run(FORMATS).split()[0]
        guest.run("insmod /modules/dummy.ko")
        functions = guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions")
        own, own_pid = ftrace.own_trace(guest, ("syscalls", ROUNDS), FILTERS)
        memory = KernelMemory(t, guest)
        before = memory.snapshot()
        with test.attach() as traced:
            assert traced.cat("available_filter_functions") == functions, "available_filter_functions differ"
            assert traced.text("available_tracers").split() == ["function_graph", "function", "nop"]
            ours, our_pid = ftrace.hvtrace_trace(traced, guest, ("syscalls", ROUNDS), FILTERS)
            assert t.hv("exec", guest.name, "--", "sh", "-c", FORMATS).split()[0] == formats, "formats of events differ"
            refused_by_name(t, guest, "recording events is not supported yet for aarch64 guests")
            on_virt.module_is_traced(traced, guest)
            trees, _ = our_trees(test, traced, FILTERS)
        compare(before, memory.snapshot())
        own_events, _ = ftrace.parse(own)
        our_events, lost = ftrace.parse(ours)
        one, other = (ftrace.rounds(e, p, FIRST) for e, p in ((own_events, own_pid), (our_events, our_pid)))
        assert lost == 0 and len(one) > 10 * ROUNDS, f"{lost} lost, {len(one)} calls"
        assert {e.comm for e in our_events} == {"workload"}, f"comms: { {e.comm for e in our_events} }"
        differ = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
        assert one == other, f"{len(one)}, {len(other)} calls; from {differ}: {one[differ:][:3]} and {other[differ:][:3]}"
        nr = sum(1 for _ in graph.walk(graph.rounds(trees, FIRST)))
        assert nr == len(one), f"{nr} calls in the graph, {len(one)} without"
        test.note(f"{len(found['unnamed_data'])} variables found; {len(one)} calls agree, in order, {nr} in the graph")
        t.notes += test.notes


def refused_by_name(t, guest, event_says):
    """Features without a trampoline are refused, or their file does not exist."""
    t.hv.fails("echo", guest.name, "current_tracer", "irqsoff", says=["irqsoff: not in this kernel"])
    t.hv.fails("echo", guest.name, "options/stacktrace", "1", says=["stacktrace"])
    t.hv.fails("echo", guest.name, "events/sched/sched_switch/enable", "1", says=[event_says])


@case(configs=OWN_GUESTS)
def arm64_all_functions(t):
    """All functions on two busy vCPUs, with a module, through veneers: tracers are switched on and off, and no site is
    refused. After kill -9 the guest continues, and recover restores every byte."""
    with a_guest(t, NOT_MOVED) as test:
        on_virt.all_functions(test, KernelMemory, compare, ("function_graph", "function"))
        t.notes += test.notes


@case(configs=OWN_GUESTS)
def arm64_graph_agrees_with_own(t):
    """One workload, a few globs: trees of calls and their order equal the guest's own. Then a profile counts as many
    calls."""
    with a_guest(t, ONE_VCPU) as test:
        on_virt.graph_agrees(test, FILTERS, FIRST, lambda: refused_by_name(t, test.guest, "recording events is not supported yet for aarch64 guests"))
        t.notes += test.notes


@case(configs=OWN_GUESTS)
def arm64_graph_ends_with_sleepers(t):
    """All functions, with a module, on a CPU that signs with the architecture's algorithm. Tasks that sleep in traced
    functions get their signed return addresses back after detach, and after kill -9 and recover, and continue. The text
    is as before."""
    with a_guest(t, QARMA) as test:
        test.guest.run("insmod /modules/dummy.ko")
        on_virt.ends_with_sleepers(test, KernelMemory(t, test.guest), compare)
        t.notes += test.notes


@case(configs=OWN_GUESTS)
def arm64_stacks_agree_with_own(t):
    """func_stack_trace: stacks and their order equal the guest's own. Stacks of interrupts, which span two kernel
    stacks, lead to the kernel's entry."""
    with a_guest(t, ONE_VCPU) as test:
        guest, options = test.guest, ("func_stack_trace",)
        own, own_pid = ftrace.own_trace(guest, ("syscalls", ROUNDS), FILTERS, options=options)
        with test.attach() as traced:
            ours, our_pid = ftrace.hvtrace_trace(traced, guest, ("syscalls", ROUNDS), FILTERS, options=options)
            nr = agree(own, own_pid, ours, our_pid, FIRST)
            traced.echo("set_ftrace_filter", "hrtimer_interrupt")
            traced.echo("current_tracer", "function")
            traced.echo("trace_options", "func_stack_trace")

            def ticks_so_far():
                guest.run("sleep 1")
                return [lines for _, _, lines in stacks(traced.text("trace"))]

            ticks = until(lambda: len(found := ticks_so_far()) > 10 and found)
            assert ticks, "too few timer interrupts"
            cut = [lines for lines in ticks if lines[-1] == UNKNOWN]
            assert not cut, f"{len(cut)} of {len(ticks)} interrupts end early: {cut[:1]}"
        t.note(f"{nr} stacks agree, in order; {len(ticks)} stacks of interrupts are complete")


@case(configs=OWN_GUESTS)
def arm64_commands(t):
    """With function_graph as the tracer, the command stacktrace records stacks that equal the guest's own. traceoff,
    traceon, snapshot, counts and function-fork work. Probes are refused by name."""
    with a_guest(t, ONE_VCPU) as test:
        guest = test.guest
        filters = (*FILTERS, *(f"{glob}:stacktrace" for glob in (FIRST, "vfs_*")))
        own, own_pid = ftrace.own_trace(guest, ("syscalls", ROUNDS), filters, tracer="function_graph")
        with test.attach() as traced:
            ours, our_pid = ftrace.hvtrace_trace(traced, guest, ("syscalls", ROUNDS), filters, tracer="function_graph")
            nr = agree(own, own_pid, ours, our_pid, FIRST)
        with test.attach() as traced:
            on_virt.follow_forks(traced, guest)
            traced.echo("set_ftrace_filter", "vfs_open:stacktrace:3")
            guest.run("for i in 1 2 3 4 5; do cat /proc/uptime; done")
            found = stacks(traced.text("trace"))
            assert [lines[0] for _, _, lines in found] == 3 * ["vfs_open"], f"stacks: {found}"
            assert all(lines[-1] == "el0t_64_sync" for _, _, lines in found), f"stacks: {found}"
            traced.echo("set_ftrace_filter", "!vfs_open:stacktrace:0", append=True)
            for command in ("vfs_rmdir:snapshot:1", "vfs_symlink:traceoff", "vfs_unlink:traceon"):
                traced.echo("set_ftrace_filter", command, append=True)
            traced.echo("set_ftrace_filter", "vfs_mkdir", "vfs_rmdir")
            traced.echo("current_tracer", "function")
            guest.run("mkdir /tmp/a; rmdir /tmp/a")
            until(lambda: "vfs_mkdir" in traced.text("snapshot"))
            guest.run("ln -s a /tmp/l; mkdir /tmp/b; rm /tmp/l; rmdir /tmp/b")
            of = [[e.function for e in ftrace.parse(traced.text(file))[0]] for file in ("snapshot", "trace")]
            assert of == [["vfs_mkdir"], 2 * ["vfs_rmdir"]], f"snapshot and trace: {of}"
        t.note(f"{nr} stacks agree, in order")
