# SPDX-License-Identifier: GPL-2.0-or-later
"""Traces, compared with the guest's own ftrace."""

import collections
import re
import time

from lib import ftrace
from lib.domain import Config
from lib.suite import IN_TURN, OLDEST, ONE_VCPU, STANDARD, case
from lib.wait import until

FILTERS = ("vfs_*", "ksys_*", "*pipe*", "do_*", ftrace.ROUND)
ROUNDS = 20


@case(configs=(STANDARD[0], STANDARD[2]), further=STANDARD[1:2])
def functions_are_the_guests(t):
    """available_filter_functions equals the guest's own byte for byte, with and without a module."""
    for module in (False, True):
        if module:
            t.guest.run("insmod /modules/dummy.ko")
        try:
            own = t.guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions")
            with t.attach() as traced:
                theirs = traced.cat("available_filter_functions")
        finally:
            if module:
                t.guest.run("rmmod dummy")
        if own != theirs:
            one, other = own.decode().splitlines(), theirs.decode().splitlines()
            differ = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
            raise AssertionError(
                f"{len(one)} of the guest's own, {len(other)} of hvtrace; from line {differ + 1}: "
                f"{one[differ:differ + 2]} and {other[differ:differ + 2]}"
            )
        if module:
            assert b" [dummy]\n" in own, "the module's functions are not in the list"
        t.note(f"{own.count(10)} functions{' with a module' if module else ''}")


def header(text):
    """Returns the comment lines, with N in place of their numbers."""
    return [re.sub(r"\d+/\d+ ", "N/N ", line) for line in text.splitlines() if line.startswith("#")]


@case(configs=(*IN_TURN, *ONE_VCPU[:1]), sanitized=True)
def agrees_with_own_ftrace_filtered(t):
    """One workload, a few globs: functions, callers and their order equal the guest's own."""
    own, own_pid = ftrace.own_trace(t.guest, ("syscalls", ROUNDS), FILTERS)
    with t.attach() as traced:
        ours, our_pid = ftrace.hvtrace_trace(traced, t.guest, ("syscalls", ROUNDS), FILTERS)
    own_events, _ = ftrace.parse(own)
    our_events, lost = ftrace.parse(ours)
    assert lost == 0, f"{lost} events lost"
    if "migrate-disable" in own:  # since 5.12; the columns of hvtrace do not depend on the kernel
        assert header(own) == header(ours), f"headers differ: {header(own)} and {header(ours)}"
    others = {e.pid for e in our_events} - {our_pid}
    assert not others, f"tasks that the pid filter excludes: {sorted(others)[:5]}"
    one, other = ftrace.rounds(own_events, own_pid), ftrace.rounds(our_events, our_pid)
    assert len(one) > 10 * ROUNDS, f"only {len(one)} calls traced by the guest itself"
    assert {e.comm for e in our_events} == {"workload"}, f"comms: { {e.comm for e in our_events} }"
    times = [e.time for e in our_events]
    assert times == sorted(times), "not in time order"
    if one != other:
        differ = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
        raise AssertionError(
            f"{len(one)} calls by the guest, {len(other)} by hvtrace; from call {differ + 1}: "
            f"{one[differ:differ + 3]} and {other[differ:differ + 3]}"
        )
    t.note(f"{len(one)} calls agree, in order")


@case(configs=(OLDEST,), further=ONE_VCPU[:1])
def agrees_with_own_ftrace_all(t):
    """All functions: pairs of (function, caller) that every round of the workload has, equally often in the guest's own
    runs, occur as often with hvtrace. Other pairs (allocation, preemption) vary from run to run by themselves."""

    def counted(text, pid):
        events, lost = ftrace.parse(text)
        assert lost == 0, f"{lost} events lost"
        of_rounds = ftrace.rounds(events, pid)
        every.append(ftrace.in_every_round(of_rounds))
        return collections.Counter(of_rounds)

    every = []  # one set per run, the first by the guest itself
    start = time.monotonic()
    own = [counted(*ftrace.own_trace(t.guest, ("syscalls", ROUNDS), ())) for _ in range(2)]
    t.note(f"the guest's own ftrace took {time.monotonic() - start:.1f} s")
    with t.attach() as traced:
        ours = [counted(*ftrace.hvtrace_trace(traced, t.guest, ("syscalls", ROUNDS), ())) for _ in range(2)]
    stable = {p: n for p, n in own[0].items() if all(run[p] == n for run in own) and n % (ROUNDS - 1) == 0}
    assert len(stable) > 50, f"only {len(stable)} stable pairs"
    # Functions of a timer interrupt may be in one run and not in the other.
    differ = {p: (n, *(run[p] for run in ours)) for p, n in stable.items() if all(run[p] != n for run in ours)}
    assert not differ, f"{len(differ)} of {len(stable)} pairs differ (own, hvtrace): {list(differ.items())[:6]}"
    seen = set().union(*own)
    # Refilling a slab may make as many calls of one pair as there are rounds, but all in one round.
    strange = [p for p in every[2] if p not in seen and p[0] not in ftrace.IN_SWITCH]
    assert not strange, f"pairs of every round that the guest itself never saw: {strange[:6]}"
    t.note(f"{sum(stable.values())} calls of {len(stable)} pairs agree, {len(seen) - len(stable)} pairs vary")


@case(configs=STANDARD[2:3])
def all_sites_on_and_off(t):
    """All sites are patched, a storm of forks runs, all are put back; three times."""
    with t.attach() as traced:
        sites = traced.stat()
        for _ in range(3):
            traced.echo("current_tracer", "function")
            pid = ftrace.start_workload(t.guest, "forkstorm", 30)
            ftrace.go(t.guest, pid)
            on = traced.stat()
            traced.echo("current_tracer", "nop")
        off = traced.stat()
    total, patched = sites["sites"]["traceable"], on["sites"]["patched"]
    t.note(f"{patched} of {total} sites, {off['events']} events, holds of at most {off['holds']['max_ns'] / 1e6:.1f} ms")
    assert patched + on["sites"]["refused"] >= total, f"{on['sites']}"
    assert patched > 0.98 * total, f"{on['sites']}"
    assert off["sites"]["patched"] == 0, f"sites still patched: {off['sites']}"


@case(configs=(STANDARD[0], STANDARD[2]), sanitized=True)
def module_functions_are_traced(t):
    """A function of a module is traced. Afterwards its site is as before."""
    t.guest.run("insmod /modules/dummy.ko && ip link set dummy0 up")
    try:
        with t.attach() as traced:
            traced.echo("set_ftrace_filter", "*:mod:dummy")
            traced.echo("current_tracer", "function")
            t.guest.run("ip link show dummy0; ip addr add 10.9.9.1/24 dev dummy0; ping -c 3 -W 1 10.9.9.2; true")
            events, _ = ftrace.parse(traced.text("trace"))
            assert any(e.function == "dummy_xmit" for e in events), f"no dummy_xmit in {events[:3]}"
            others = [e for e in events if not e.function.startswith("dummy_")]
            assert not others, f"not the module's: {others[:3]}"
    finally:
        t.guest.run("rmmod dummy")


@case(configs=(STANDARD[0], STANDARD[2]))
def pid_filter(t):
    """set_ftrace_pid: of two tasks that do equal work, only one is traced."""
    with t.attach() as traced:
        first = ftrace.start_workload(t.guest, "syscalls", 50)
        ftrace.start_workload(t.guest, "syscalls", 50)
        traced.echo("set_ftrace_pid", str(first))
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        t.guest.run("killall -USR1 workload; while pidof workload >/dev/null; do sleep 0.1; done")
        events, _ = ftrace.parse(traced.text("trace"))
        assert events, "nothing traced"
        others = {e.pid for e in events} - {first}
        assert not others, f"other tasks: {sorted(others)[:5]}"
        assert traced.text("set_ftrace_pid").split() == [str(first)]


@case(configs=(STANDARD[0], STANDARD[2]))
def tracing_on_and_off(t):
    """tracing_on 0 stops recording, 1 continues it; `> trace` empties the buffer."""
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_read")
        traced.echo("current_tracer", "function")
        t.guest.run("cat /proc/uptime")
        assert ftrace.parse(traced.text("trace"))[0], "nothing traced"
        traced.echo("tracing_on", "0")
        assert traced.text("tracing_on") == "0\n"
        traced.echo("trace", "")
        t.guest.run("cat /proc/uptime")
        assert not ftrace.parse(traced.text("trace"))[0], "traced with tracing_on 0"
        traced.echo("tracing_on", "1")
        t.guest.run("cat /proc/uptime")
        assert ftrace.parse(traced.text("trace"))[0], "nothing traced after tracing_on 1"


@case(configs=(Config("bookworm", 2, shmem_mib=16),))
def lost_events_are_counted(t):
    """The smallest region and a storm of forks: stat counts the overwritten records and trace_pipe shows the number."""
    with t.attach() as traced:
        traced.echo("current_tracer", "function")
        pid = ftrace.start_workload(t.guest, "forkstorm", 300)
        ftrace.go(t.guest, pid)
        traced.echo("tracing_on", "0")
        process = t.hv.start("cat", t.name, "trace_pipe")
        try:
            head = process.stdout.read(4 << 20).decode(errors="replace")
        finally:
            process.kill()
            process.communicate()
        _, told = ftrace.parse(head.rsplit("\n", 1)[0])
        counted = traced.stat()["lost"]
        traced.echo("current_tracer", "nop")
    assert told > 0, f"no LOST line in: {head[:300]}"
    assert counted >= told, f"trace_pipe reported {told}, stat {counted}"
    t.note(f"lost: {counted} in stat, {told} in trace_pipe when it ended")


@case(configs=STANDARD[:1])
def record_attaches_and_detaches(t):
    """`hvtrace record` attaches, traces, and detaches."""
    pid = ftrace.start_workload(t.guest, "spin", 100000)
    t.guest.run(f"kill -USR1 {pid}")

    def recorded():
        """Returns the recorded events: none if a busy host does not run the guest in that second."""
        return ftrace.parse(t.hv("record", "-p", "function", "-l", "vfs_read", "-P", str(pid), "--for=1", t.name))[0]

    try:
        events = until(recorded)
    finally:
        t.guest.run(f"kill -9 {pid}")
    assert {(e.function, e.pid) for e in events} == {("vfs_read", pid)}, f"{events[:5]}"


@case(configs=ONE_VCPU[:1])
def check_agrees_with_attach(t):
    """While the guest's own function tracer uses all functions, check reports that they can be traced, too, and that
    attach succeeds, which it does. The session traces one of them, also after the guest has released them."""
    t.guest.run_own("echo function >/sys/kernel/tracing/current_tracer")
    try:
        said = t.hv("check", t.name)
        found = re.search(r"with (\d+) in use by the guest \((\d+) can be traced, too\)", said)
        assert found and found[1] == found[2] and int(found[1]) > 30000 and re.search(r"^traceable +yes$", said, re.MULTILINE), said
        with t.attach() as traced:
            traced.echo("set_ftrace_filter", "vfs_read")
            traced.echo("current_tracer", "function")
            t.guest.run("cat /proc/uptime")
            text = traced.text("trace")
            assert "vfs_read" in {e.function for e in ftrace.parse(text, strict=False)[0]}, f"{traced.stat()['sites']} {text[-1000:]}"
            stat = traced.stat()["sites"]
            assert stat["joined"] == 1 and stat["in_use"] == int(found[1]) and not stat["refused"], stat
            t.guest.run_own("echo nop >/sys/kernel/tracing/current_tracer")
            assert until(lambda: traced.stat()["sites"]["unseen"]["times"] == 1), traced.stat()["sites"]
            traced.echo("trace", "")
            t.guest.run("cat /proc/uptime")
            text = traced.text("trace")
            assert "vfs_read" in {e.function for e in ftrace.parse(text, strict=False)[0]}, f"{traced.stat()['sites']} {text[-1000:]}"
            stat = traced.stat()["sites"]
            assert stat["patched"] == 1 and stat["joined"] == stat["in_use"] == 0, stat
        said = t.hv("check", t.name)
        assert "with 0 in use by the guest" in said, said
    finally:
        t.guest.run_own("cd /sys/kernel/tracing && echo nop >current_tracer && echo >trace")


# The guest's own users, one site each: kprobe, function tracer, function_graph.
OWN_BEGIN = (
    "cd /sys/kernel/tracing && mkdir instances/own && echo 'p:own vfs_read' >kprobe_events && echo 1 >events/kprobes/own/enable"
    " && echo vfs_statx >instances/own/set_ftrace_filter && echo function >instances/own/current_tracer"
    " && echo vfs_open >set_ftrace_filter && echo function_graph >current_tracer"
)
OWN_END = (
    "cd /sys/kernel/tracing && echo nop >current_tracer && echo >set_ftrace_filter && echo 0 >events/kprobes/own/enable"
    " && echo >kprobe_events && rmdir instances/own && echo >trace"
)


@case(configs=IN_TURN[:1])
def own_ftrace_takes_traced_functions(t):
    """The guest's own kprobe, function tracer and function_graph begin on functions that hvtrace traces. hvtrace's
    function tracer joins their sites, and has them again when they end; its function_graph leaves the site to
    function_graph. They continue when hvtrace is killed and recovered."""
    for tracer, killed in (("function", False), ("function_graph", True)):
        traced = t.attach().__enter__()
        if tracer == "function":
            traced.echo("set_ftrace_filter", "copy_from_kernel_nofault:stacktrace")
        traced.echo("set_ftrace_filter", "vfs_* copy_from_kernel_nofault")
        traced.echo("current_tracer", tracer)
        patched = traced.stat()["sites"]["patched"]
        t.guest.run_own(OWN_BEGIN)
        own = t.guest.run("cd /sys/kernel/tracing; stat /proc/uptime; cat /proc/uptime trace instances/own/trace")
        for words in ("own: (vfs_read", "vfs_statx <-", "vfs_open()"):
            assert words in own, f"the guest's own trace has no {words!r}: {own[-2000:]}"
        joined = 3 if tracer == "function" else 2
        wanted = [patched - 3 + joined, joined]
        assert until(lambda: [traced.stat()["sites"][key] for key in ("patched", "joined")] == wanted), f"{traced.stat()['sites']}"
        if killed:
            traced.kill()
            t.recover()
            t.guest.run("echo >/sys/kernel/tracing/trace; cat /proc/uptime")
            assert "vfs_open()" in t.guest.run("cat /sys/kernel/tracing/trace"), "the guest's own tracing has stopped"
        t.guest.run_own(OWN_END)
        if not killed:
            text = traced.text("trace")
            assert "copy_from_kernel_nofault <-ftrace_" in text and "<-0x" not in text, f"{text[-2000:]}"
            assert re.search(r"tracing_mark_write: hvtrace: \d+ functions? w.* not seen for up to \d+ ms while the guest changed ", text), text[-2000:]
            stacks = re.findall(r"(?m)^ => copy_from_kernel_nofault\n => ftrace_.*\n(?: => .*\n)*", text)
            for stack in stacks:  # up to the system call or thread that started or ended a user of ftrace
                assert re.search(r" => (do_syscall_64|kthread)\n", stack), stack
            assert stacks, f"{text[-2000:]}"
            assert until(lambda: traced.stat()["sites"]["patched"] == patched), f"{traced.stat()['sites']}"
            t.hv("detach", traced.domain)
