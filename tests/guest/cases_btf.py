# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel without usable BTF: hvtrace derives offsets from its code and memory, or reads BTF from a file (--btf). The
guest's kernel is Debian's, with the header of its BTF overwritten in guest memory."""

import contextlib
import fnmatch
import json
import os
import struct
import tempfile

from cases_beside import kill, victims
from cases_events import FILES, same
from cases_graph import our_trees, own_trees
from lib import ftrace, graph
from lib.btf import Btf
from lib.memory import Memory
from lib.own import kernel_file, unpack_vmlinux
from lib.suite import NEWEST, OLDEST, ONE_VCPU, Skip, case
from lib.wait import until

LSEEK = (ftrace.ROUND, "SyS_lseek")  # since 4.17, and before
PATTERNS = ("vfs_*", "ksys_*", "*pipe*")
ROUNDS = 20
WRITTEN_OR_LOADED = ("task_struct.comm", "task_struct.pid", "task_struct.tgid", "task_struct.flags", "task_struct.stack")
HEADER_BYTES = 24


@contextlib.contextmanager
def without_btf(t):
    """Overwrites the header of the kernel's BTF until the block ends. Yields a directory with the BTF, and its release. The
    directory of a kernel that was built without BTF is empty."""
    release = t.guest.run("uname -r").strip()
    memory = Memory(t.guest)
    if not t.guest.run("grep -m1 ' __start_BTF$' /proc/kallsyms; true"):
        with tempfile.TemporaryDirectory() as directory:
            yield directory, release
        memory.close()
        return
    at, btf = memory.hide_btf()
    with tempfile.TemporaryDirectory() as directory:
        with open(f"{directory}/{release}.btf", "wb") as file:
            file.write(btf)
        try:
            yield directory, release
        finally:
            memory.write_image(at, btf[:HEADER_BYTES])
            memory.close()


def filters_of(t):
    """Returns the filters that match a function of the guest. The last one is a function that each round calls once."""
    functions = t.guest.run("cut -d' ' -f1 /sys/kernel/tracing/available_filter_functions").split()
    first = next(name for name in LSEEK if name in functions)
    return (*(pattern for pattern in PATTERNS if fnmatch.filter(functions, pattern)), first)


def agrees(t, own, own_pid, filters, *options):
    """Checks that the guest's own trace and a session with OPTIONS have the same calls in the same order."""
    with t.attach(*options) as traced:
        ours, our_pid = ftrace.hvtrace_trace(traced, t.guest, ("syscalls", ROUNDS), filters)
    one = ftrace.rounds(ftrace.parse(own)[0], own_pid, filters[-1])
    events, lost = ftrace.parse(ours)
    assert lost == 0 and len(one) > 10 * ROUNDS, (lost, len(one))
    assert one == ftrace.rounds(events, our_pid, filters[-1]), f"{len(one)} calls by the guest, {len(events)} events by hvtrace"
    assert {e.comm for e in events} == {"workload"}, {e.comm for e in events}
    t.note(f"{len(one)} calls agree")


@case(configs=ONE_VCPU[:1], further=(*ONE_VCPU[1:], OLDEST, NEWEST))
def traces_with_a_btf_file(t):
    """With the file, the trace equals the guest's own. A killed session is recovered with it."""
    filters = filters_of(t)
    own, own_pid = ftrace.own_trace(t.guest, ("syscalls", ROUNDS), filters)
    with without_btf(t) as (directory, release):
        path = f"{directory}/{release}.btf"
        elsewhere = f"{directory}/elsewhere"
        os.mkdir(elsewhere)
        t.hv.fails("attach", f"--btf={elsewhere}", t.name, says=(f"no file {release}.btf in {elsewhere}",))
        with open(path, "rb") as file:
            if b".data..percpu\0" not in file.read():  # Debian 5.10
                t.hv.fails("attach", f"--btf={path}", t.name, says=("cannot tell whether this file belongs to", "has no per-CPU variables"))
                t.note("refused: the file has no per-CPU variables")
                return
        for given in (path, directory):
            found = json.loads(t.hv("check", "--json", f"--btf={given}", t.name))
            types = found["types"]
            assert found["traceable"] and types["source"] == "file" and types["file"] == path, found
            assert types["percpu_variables_equal"] > 100 and types["functions_equal"] > 10000, types
            assert types["values_equal"] > 15, types
        t.note(f"{types['percpu_variables_equal']} per-CPU variables, {types['functions_equal']} functions, "
               f"{types['values_equal']} values agree")  # fmt: skip
        agrees(t, own, own_pid, filters, f"--btf={path}")
        agrees(t, own, own_pid, filters, f"--btf={directory}")
        with t.attach(f"--btf={path}") as traced:
            # Nothing in memory proves the offsets of members that events write.
            t.hv.fails("echo", t.name, "events/sched/sched_switch/enable", "1", says=("is not proved to be the guest's",))
            traced.echo("set_ftrace_filter", "vfs_*")
            traced.echo("current_tracer", "function")
            traced.kill()
            t.hv.fails("recover", f"--btf={elsewhere}", t.name, says=(f"no file {release}.btf in {elsewhere}",))
            t.hv.fails("attach", t.name, says=("a session died", "hvtrace recover"))
            os.rename(path, f"{path}.gone")  # the session's copy is enough
            assert "restored" in t.hv("recover", t.name)
            os.rename(f"{path}.gone", path)
            t.hv("attach", f"--btf={path}", t.name)  # the end of the block detaches
        # The broker recovers without the file, too.
        t.hv("attach", f"--btf={path}", t.name)
        t.hv("echo", t.name, "set_ftrace_filter", "vfs_*")
        t.hv("echo", t.name, "current_tracer", "function")
        os.rename(path, f"{path}.gone")
        kill(victims(t)["service"])
        assert until(lambda: not t.hv.run_dirs(t.name)), t.hv.run_dirs(t.name)
        os.rename(f"{path}.gone", path)
        assert "nothing to recover" in t.hv("recover", f"--btf={path}", t.name)


# Nested members: derivation may divide the offset differently, so only the sum of both offsets is compared.
SUMS = (
    ("task_struct.thread", "thread_struct.sp"),
    ("task_struct.se", "sched_entity.group_node"),
    ("paravirt_patch_template.irq", "pv_irq_ops.irq_disable"),
)


def derived(t):
    """Returns what hvtrace derived, as {member: (offset, proofs)}."""
    found = json.loads(t.hv("check", "--json", t.name))
    assert found["traceable"] and found["types"]["source"] == "derived" and found["btf_types"] is None, found
    assert not found["types"]["unproved"], found["types"]["unproved"]
    return {m["member"]: (m["offset"], m["proofs"]) for m in found["types"]["members"]}


@case(configs=(ONE_VCPU[-1],), further=(ONE_VCPU[0], OLDEST, NEWEST))
def derived_offsets_equal_btf(t):
    """Without BTF and without a file: each offset that hvtrace derives equals that in the BTF."""
    with without_btf(t) as (directory, release):
        with open(f"{directory}/{release}.btf", "rb") as file:
            btf = Btf(file.read())
        t.guest.run("insmod /modules/dummy.ko")
        try:
            found = derived(t)
        finally:
            t.guest.run("rmmod dummy")
        for outer, inner in SUMS:
            assert found.pop(outer)[0] + found.pop(inner)[0] == btf.offset(f"{outer}.{inner.partition('.')[2]}"), (outer, inner)
        wrong = {name: (offset, btf.offset(name), proofs) for name, (offset, proofs) in found.items() if offset != btf.offset(name)}
        assert not wrong, f"(derived, in BTF, proofs): {wrong}"
        assert len(found) > 165, found
        once = [name for name in WRITTEN_OR_LOADED if len(found[name][1]) < 2]
        assert not once, f"only one proof: {once}"
        t.note(f"{len(found)} members")


@contextlib.contextmanager
def nothing_derived(t, comm):
    """Until the block ends, changes the name of init_task, at offset COMM, so that no offset can be derived."""
    memory = Memory(t.guest)
    at = int(t.guest.run("grep ' init_task$' /proc/kallsyms").split()[0], 16) + comm
    assert memory.read_image(at, 7) == b"swapper"
    memory.write_image(at, b"S")
    try:
        yield
    finally:
        memory.write_image(at, b"s")
        memory.close()


@case(configs=ONE_VCPU[:1], further=(*ONE_VCPU[1:], OLDEST, NEWEST), sanitized=True)
def traces_without_btf(t):
    """Functions, their graph and the formats of all events equal the guest's own. A killed session is recovered with the
    offsets that it kept, even if they can no longer be derived."""
    filters = filters_of(t)
    own, own_pid = ftrace.own_trace(t.guest, ("syscalls", ROUNDS), filters)
    own_calls, _text = own_trees(t, filters)
    with without_btf(t):
        comm = derived(t)["task_struct.comm"][0]
        agrees(t, own, own_pid, filters)
        with t.attach() as traced:
            ours, _text = our_trees(t, traced, filters)
            differ = graph.difference(graph.rounds(own_calls, filters[-1]), graph.rounds(ours, filters[-1]))
            assert not differ, f"(own, hvtrace): {differ}"
            assert same(t, f"{FILES} | xargs cat").count(b"name: ") > 500
            traced.echo("events/sched/sched_switch/enable", "1")
            assert "sched_switch: prev_comm=" in until(lambda: traced.text("trace") if "==>" in traced.text("trace") else None)
            for system in ("sched", "irq", "timer", "kmem", "signal", "workqueue", "raw_syscalls", "block", "writeback"):
                traced.echo(f"events/{system}/enable", "1")
            traced.echo("set_ftrace_filter", "vfs_*")
            traced.echo("current_tracer", "function")
            traced.kill()
            (directory,) = t.hv.run_dirs(t.name)
            with nothing_derived(t, comm):
                os.rename(f"{directory}/facts", f"{directory}/gone")
                t.hv.fails("recover", t.name, says=("kernel without BTF",))
                os.rename(f"{directory}/gone", f"{directory}/facts")
                assert "restored" in t.hv("recover", t.name)
            t.hv("attach", t.name)  # the end of the block detaches
        t.hv("attach", t.name)
        t.hv("echo", t.name, "set_ftrace_filter", "vfs_*")
        t.hv("echo", t.name, "current_tracer", "function")
        with nothing_derived(t, comm):  # the broker recovers with the kept offsets, too
            kill(victims(t)["service"])
            assert until(lambda: not t.hv.run_dirs(t.name)), t.hv.run_dirs(t.name)
        assert "nothing to recover" in t.hv("recover", t.name)


def elf_section(path, name):
    with open(path, "rb") as file:
        data = file.read()
    start, nr, names = (int.from_bytes(data[at : at + size], "little") for at, size in ((0x28, 8), (0x3C, 2), (0x3E, 2)))
    fields = [struct.unpack_from("<I20xQQ", data, start + 64 * i) for i in range(nr)]
    for offset, begin, size in fields:
        if data.startswith(name + b"\0", fields[names][1] + offset):
            return data[begin : begin + size]
    raise AssertionError(f"{path} has no section {name}")


@case(configs=ONE_VCPU[:1], sanitized=True)
def refuses_btf_of_another_kernel(t):
    """The BTF of another release, as an ELF file, as raw BTF, and under the name of the guest's release. Also truncated
    files, and a file that other users may write to."""
    with tempfile.TemporaryDirectory() as other, without_btf(t) as (directory, release):
        elf, path = f"{other}/vmlinux", f"{other}/{release}.btf"
        if not unpack_vmlinux(kernel_file("trixie")[0], elf):
            raise Skip("trixie's bzImage is not packed with zstd")
        with open(path, "wb") as file:
            file.write(elf_section(elf, b".BTF"))
        builds = ("is of another build than the guest's Linux " + release, "build id")
        t.hv.fails("attach", f"--btf={elf}", t.name, says=(*builds, elf, "the build ids differ"))
        for given in (path, other):
            t.hv.fails("attach", f"--btf={given}", t.name, says=(*builds, path, "per-CPU variable"))
        os.chmod(path, 0o664)
        t.hv.fails("attach", f"--btf={path}", t.name, says=("other users than its owner may write to it",))
        os.chmod(path, 0o644)
        with open(f"{directory}/{release}.btf", "rb") as file:
            whole = file.read()
        for length in (0, 10, HEADER_BYTES, len(whole) // 2, len(whole) - 1):
            with open(path, "wb") as file:
                file.write(whole[:length])
            t.hv.fails("attach", f"--btf={path}", t.name, says=(path, "BTF"))
        os.chmod(f"{directory}/{release}.btf", 0o666)
        t.hv.fails("attach", f"--btf={directory}", t.name, says=("other users than its owner may write to it",))
