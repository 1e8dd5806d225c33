# SPDX-License-Identifier: GPL-2.0-or-later
"""function_graph, compared with the guest's own, during various activities in the guest."""

import collections
import json
import os
import re
import signal
import time

from lib import ftrace, graph
from lib.memory import Memory
from lib.names import Names
from lib.suite import IN_TURN, ONE_VCPU, STANDARD, case
from lib.wait import HANG_SECONDS, said, until

# Interrupts call none of these functions.
FILTERS = ("vfs_*", "ksys_*", "*pipe*", "*rmdir*", "*mkdir*", "*faccessat*", "path_*", "rw_verify_area", "__x64_sys_*")
COLUMNS = ("funcgraph-proc", "funcgraph-tail")
ROUNDS = 20
EVERY = (STANDARD[0], STANDARD[2])
SWITCHES = int(os.environ.get("HVTRACE_TEST_SWITCHES", "5"))
TRACERS = ("function_graph", "function", "function_graph", "nop")


def trees(text, pid, odd=None):
    lines, lost = graph.parse(text)
    assert lost == 0, f"{lost} events lost"
    return graph.trees(lines, pid, odd)


def own_trees(t, filters, files=()):
    """Returns the roots of one run of the workload from the guest's own tracer, and the text. FILES: (name, text) pairs
    to write before. When interrupts are traced, the guest's own tracer misses some returns."""
    text, pid = ftrace.own_trace(t.guest, ("syscalls", ROUNDS), filters, tracer="function_graph", options=COLUMNS, files=files)
    return trees(text, pid), text


def our_trees(t, traced, filters, files=(), odd=None, where=""):
    """Like own_trees(), from hvtrace, in the instance WHERE. ODD receives the lines that do not nest; None: there must
    be no such lines."""
    text, pid = ftrace.hvtrace_trace(
        traced, t.guest, ("syscalls", ROUNDS), filters, tracer="function_graph", options=COLUMNS, files=files, where=where
    )
    strays = [] if odd is None else odd
    roots = trees(text, pid, strays)
    assert odd is not None or not strays, f"{len(strays)} lines do not nest: {strays[:3]}"
    return roots, text


def head(text):
    return [line for line in text.splitlines() if line.startswith("#")]


@case(configs=(*IN_TURN[1:], *ONE_VCPU[:1]), further=IN_TURN[:1], sanitized=True)
def graph_agrees_with_own(t):
    """One workload, a few globs: trees of calls, their order and folding, and the header equal the guest's own."""
    own, own_text = own_trees(t, FILTERS)
    with t.attach() as traced:
        ours, our_text = our_trees(t, traced, FILTERS)
    assert head(own_text) == head(our_text), f"{head(own_text)} and {head(our_text)}"
    one, other = graph.rounds(own, ftrace.ROUND), graph.rounds(ours, ftrace.ROUND)
    nr = sum(1 for _ in graph.walk(one))
    assert nr > 10 * ROUNDS, f"only {nr} calls traced by the guest itself"
    differ = graph.difference(one, other)
    assert not differ, f"(own, hvtrace): {differ}"
    deepest = max(len(path) for path, _ in graph.walk(one))
    folded = sum(call.folded for _, call in graph.walk(one))
    assert deepest > 2 and 0 < folded < nr, f"{nr} calls, {folded} folded, {deepest} deep: nothing to compare"
    t.note(f"{nr} calls agree, {folded} of them folded, {deepest} deep")


@case(configs=(*IN_TURN[:1], *ONE_VCPU[1:2]))
def graph_beside_others(t):
    """Two instances trace function_graph and the top traces functions: an instance has the same trees of calls as the
    guest's own tracer alone, and the top has the same calls as that instance."""
    own, _ = own_trees(t, FILTERS)
    with t.attach() as traced:
        t.hv("sh", t.name, "-c", "mkdir instances/other instances/this")
        traced.echo("instances/other/set_ftrace_filter", "*sys_*", "schedule*", "*fpregs*", "*rcu_*", "kmem_cache_*", "path_*")
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("instances/other/current_tracer", "function_graph")
        traced.echo("current_tracer", "function")
        ours, text = our_trees(t, traced, FILTERS, where="instances/this/")
        traced.echo("tracing_on", "0")
        # Functions entered by a jump have no caller (docs/users/tracefs.md).
        lines = [line for line in traced.text("trace").splitlines() if line.startswith("#") or "<-" in line]
        top, lost = ftrace.parse("\n".join(lines))
        pid = int(re.search(r"-(\d+) *\|", text)[1])
        traced.echo("current_tracer", "nop")
        traced.echo("instances/other/current_tracer", "nop")
        t.hv("sh", t.name, "-c", "rmdir instances/other instances/this")
    differ = graph.difference(graph.rounds(own, ftrace.ROUND), graph.rounds(ours, ftrace.ROUND))
    assert not differ, f"(own, hvtrace): {differ}"
    assert not lost, f"{lost} events of the top lost"
    calls = collections.Counter(path[-1] for path, _ in graph.walk(ours))
    told = collections.Counter(event.function for event in top if event.pid == pid)
    read, said_read = calls["vfs_read"], told["vfs_read"]
    assert read and read <= said_read <= read + 2, f"vfs_read: {read} calls in the graph, {said_read} of the top"
    t.note(f"{calls.total()} calls agree while two other tracers run")


def of_calls(roots):
    return [root for root in roots if "x64_sys_" in root.name]


def by_way(roots):
    """Returns {path to a call: [number of calls in each round]}."""
    found, each = collections.defaultdict(collections.Counter), graph.each_round(graph.rounds(roots, ftrace.ROUND), ftrace.ROUND)
    for nr, of_round in enumerate(each):
        for path, _ in graph.walk(of_round):
            found[path][nr] += 1
    return {path: [counts[nr] for nr in range(len(each))] for path, counts in found.items()}


def most_often(numbers):
    return collections.Counter(numbers).most_common(1)[0][0]


def reads_of(roots):
    """Returns {function called by vfs_read: Counter of the trees of such vfs_read calls}."""
    found = collections.defaultdict(collections.Counter)
    for path, call in graph.walk(roots):
        for below in call.calls if path[-1] == "vfs_read" else ():
            found[below.name][graph.shape(call)] += 1
    return found


@case(configs=ONE_VCPU[1:])
def graph_of_all_agrees_with_own(t):
    """All functions, compared with one run by the guest itself. Calls that a system call makes on one path equally
    often in every round occur as often in most of hvtrace's rounds. (Allocation and interrupts vary by themselves,
    and a slow round is preempted more often than a fast one.) The trees below vfs_read, of a file and of a pipe,
    equal those with set_graph_function."""
    own, _ = own_trees(t, ())
    odd = []
    with t.attach() as traced:
        ours, text = our_trees(t, traced, (), odd=odd)
        below, _ = our_trees(t, traced, (), (("set_graph_function", "vfs_read"),), odd=[])
    nr = text.count("\n")
    odd = collections.Counter(line.name for line in odd)
    assert 500 * odd.total() < nr, f"{odd.total()} of {nr} lines do not nest: {odd}"
    own_ways, our_ways = by_way(of_calls(own)), by_way(of_calls(ours))
    stable = {path: counts[0] for path, counts in own_ways.items() if len(set(counts)) == 1}
    assert len(stable) > 50, f"only {len(stable)} stable paths"
    differ = {path: (n, our_ways.get(path)) for path, n in stable.items() if most_often(our_ways.get(path, [0])) != n}
    assert not differ, f"{len(differ)} of {len(stable)} paths differ (own, hvtrace): {list(differ.items())[:4]}"
    t.note(f"{len(stable)} paths agree, {len(own_ways) - len(stable)} paths vary; {odd.total()} of {nr} lines do not nest {dict(odd.most_common(5))}")

    assert {root.name for root in below} == {"vfs_read"}, f"{ {root.name for root in below} }"
    own_reads, our_reads = reads_of(own), reads_of(below)
    for what in (Names(t.guest)["pipe_read"], "shmem_file_read_iter"):
        same = own_reads[what] & our_reads[what]
        assert same.total() >= 2, (
            f"{same.total()} trees with {what} are equal, of {own_reads[what].total()} by the guest and"
            f" {our_reads[what].total()} by hvtrace: {own_reads[what].most_common(1)} and {our_reads[what].most_common(1)}"
        )
        t.note(f"{same.total()} of {own_reads[what].total()} trees with {what} agree")


@case(configs=IN_TURN[1:], further=IN_TURN[:1])
def graph_functions_and_depth(t):
    """set_graph_function, set_graph_notrace and max_graph_depth work as in the guest."""
    with t.attach() as traced:
        for file, text in (("set_graph_notrace", "vfs_read"), ("max_graph_depth", "2")):
            files = (("set_graph_function", "ksys_read"), (file, text))
            own, ours = own_trees(t, FILTERS, files)[0], our_trees(t, traced, FILTERS, files)[0]
            differ = graph.difference(own, ours)
            assert not differ, f"{files}: (own, hvtrace): {differ}"
            assert len(own) >= ROUNDS, f"{files}: only {len(own)} outermost calls"
            assert {call.name for call in ours} == {"ksys_read"}, f"{files}: { {call.name for call in ours} }"
            deepest = max(len(path) for path, _ in graph.walk(ours))
            t.note(f"{file}: {len(ours)} outermost calls, {deepest} deep")


@case(configs=EVERY)
def graph_threshold(t):
    """tracing_thresh: only returns, and only of calls that took at least that long, such as the sleep. funcgraph-host,
    which excludes the host's time, is refused if the guest has no steal time."""
    with t.attach() as traced:
        if not t.lab.kvm(t.guest):
            t.hv.fails("echo", t.name, "options/funcgraph-host", "1", says=("funcgraph-host", "does not report steal time to the guest"))
        traced.echo("tracing_thresh", "150000")
        traced.echo("set_ftrace_filter", "*nanosleep*", "vfs_read")
        traced.echo("options/funcgraph-proc", "1")
        traced.echo("current_tracer", "function_graph")
        t.guest.run("sleep 0.3; sleep 0.02; cat /proc/uptime")
        text = traced.text("trace")
    lines, _ = graph.parse(text)
    assert lines, f"nothing recorded: {text!r}"
    assert {line.kind for line in lines} == {graph.LEAVE}, f"not only returns: {text}"
    assert all(line.us >= 150000 for line in lines), text
    slow = [line for line in lines if "nanosleep" in line.name and 300000 <= line.us < 20000000]
    assert slow, text
    t.note(f"{len(slow)} returns after at least {min(line.us for line in slow) / 1e6:.3f} s")


@case(configs=EVERY)
def graph_values(t):
    """funcgraph-retval: the return values of the workload's reads, an errno in decimal."""
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_read", "ksys_read", "do_faccessat", "__x64_sys_access")
        traced.echo("current_tracer", "function_graph")
        for option in (*COLUMNS, "funcgraph-retval"):
            traced.echo("trace_options", option)
        pid = ftrace.start_workload(t.guest, "syscalls", 5)
        traced.echo("set_ftrace_pid", str(pid))
        traced.echo("trace", "")
        ftrace.go(t.guest, pid)
        text = traced.text("trace")
        traced.echo("trace_options", "funcgraph-retval-hex")
        hexes = traced.text("trace")
    values = collections.defaultdict(set)
    for line in graph.parse(text)[0]:
        if line.pid == pid and line.kind != graph.ENTER:
            values[line.name].add(line.value)
    assert {"0x1000", "0x64"} <= values["vfs_read"], f"{dict(values)}"
    assert values["vfs_read"] == values["ksys_read"], f"{dict(values)}"
    assert values["do_faccessat"] == {"-2"}, f"{dict(values)}"
    assert "= 0xfffffffffffffffe */" in hexes, hexes[:2000]


@case(configs=(STANDARD[0],))
def record_graph(t):
    """hvtrace record -p function_graph -g: trees of that function. After ^C the settings are as before."""
    with t.attach() as traced:
        words = ("-p", "function_graph", "-g", "ksys_read", "-l", "ksys_*", "-l", "vfs_*", "-l", "rw_verify_area")
        recording = t.hv.start("record", *words, traced.domain, "--for", "1h")
        text = ""

        def recorded(wanted):
            nonlocal text
            t.guest.run("cat /proc/uptime")
            text += said(recording.stdout, wanted, seconds=0)
            return wanted in text or recording.poll() is not None

        try:
            until(lambda: recorded("rw_verify_area();\n"))
            recording.send_signal(signal.SIGINT)
            out, err = recording.communicate(timeout=HANG_SECONDS)
        finally:
            recording.kill()
        text += out.decode()
        assert recording.returncode == -signal.SIGINT, f"{recording.returncode}: {err.decode()}"
        assert "|  ksys_read() {\n" in text, f"{text[:1000]!r}"
        assert "|    vfs_read() {\n" in text and "|      rw_verify_area();\n" in text, text[:1000]
        assert "|  vfs_" not in text and "|  ksys_write" not in text, text[:1000]
        assert traced.text("current_tracer") == "nop\n"
        assert "all functions" in traced.text("set_graph_function")
        histogram(t, traced)


def histogram(t, traced):
    """hvtrace hist counts every call of a task, and its system calls from raw_syscalls:sys_enter to sys_exit."""
    pid = ftrace.start_workload(t.guest, "syscalls", 50)
    counting = t.hv.start("hist", "--json", "-P", str(pid), traced.domain, ftrace.ROUND, "raw_syscalls:sys_enter")
    try:
        t.await_record(counting, "function_graph")
        ftrace.go(t.guest, pid)
        counting.send_signal(signal.SIGINT)
        out, err = counting.communicate(timeout=HANG_SECONDS)
    finally:
        counting.kill()
    lines = [json.loads(line) for line in out.splitlines()]
    (found,) = [line for line in lines if "function" in line]
    calls = {line["of"]["id"]: line["calls"] for line in lines if "event" in line}
    t.note(f"system calls by number: {calls}")
    assert 50 in calls.values() and all(line["until"] == "raw_syscalls:sys_exit" for line in lines if "event" in line), out
    assert found["function"] == ftrace.ROUND and found["calls"] == 50 and found["unit"] == "ns", (out, err)
    assert sum(bucket["calls"] for bucket in found["buckets"]) == 50 and 0 < found["shortest"] <= found["longest"], out


@case(configs=EVERY[:1], further=EVERY[1:])
def graph_is_balanced(t):
    """All functions, forks and threads: every return belongs to the open call of its task."""
    with t.attach() as traced:
        for option in COLUMNS:
            traced.echo(f"options/{option}", "1")
        traced.echo("current_tracer", "function_graph")
        for words in (("forkstorm", 20), ("threads", 300)):
            ftrace.go(t.guest, ftrace.start_workload(t.guest, *words))
        traced.echo("tracing_on", "0")
        text = traced.text("trace", timeout=ftrace.LONG_SECONDS)
    wrong, right = graph.unmatched(graph.parse(text)[0])
    assert right > 10000, f"only {right} returns"
    assert not wrong, f"{len(wrong)} of {right + len(wrong)} returns belong to other calls: {wrong[:3]}"
    t.note(f"{right} returns")


class Sleepers:
    """Tasks of the guest that sleep in a read until they are woken, and then print their name."""

    def __init__(self, guest):
        self.guest = guest
        self.names = []
        guest.run("rm -f /tmp/fifo /tmp/s.out; mkfifo /tmp/fifo; (sleep 100000 <>/tmp/fifo >/dev/null 2>&1 & echo $! >/tmp/s.pid)")

    def start(self, name, command="dd bs=1 count=1 </tmp/fifo"):
        self.names.append(name)
        asleep = "$(cat /proc/[0-9]*/stat 2>/dev/null | grep -c '(dd) S')"
        self.guest.run(
            f"({command}; echo {name} >>/tmp/s.out) >/dev/null 2>&1 & "
            f"until [ {asleep} = {len(self.names)} ]; do sleep 0.1; done"
        )

    def wake(self):
        """Wakes all tasks. Fails if one does not exit with success."""
        self.guest.run(f"for i in $(seq {len(self.names)}); do echo; done >/tmp/fifo")
        ended = []

        def all_ended():
            ended[:] = self.guest.run("cat /tmp/s.out 2>/dev/null; true").split()
            return sorted(ended) == sorted(self.names)

        assert until(all_ended), f"a task that slept did not end: {ended} of {self.names}"
        self.guest.run("kill $(cat /tmp/s.pid)")


@case(configs=EVERY[:1], sanitized=True)
def graph_ends_with_sleepers(t):
    """Tasks sleep in traced functions: detach restores their return addresses, and they continue and exit with success.
    Repeats this after a kill of the service."""
    for killed in (False, True):
        sleepers = Sleepers(t.guest)
        sleepers.start("before")
        traced = t.attach().__enter__()
        traced.echo("current_tracer", "function_graph")
        sleepers.start("inside")
        sleepers.start("piped", "cat </dev/zero | dd bs=1 count=1 </tmp/fifo")
        verb = "detach"
        if killed:
            verb = "recover"
            traced.kill()
        for _ in range(10):
            status, out, err = t.hv.run(verb, traced.domain)
            if status == 0:
                break
            time.sleep(0.3)
        assert status == 0, f"{verb}: {err}"
        words = out.decode()
        assert "return addresses on the kernel's stacks put back" in words, f"{verb} printed: {words}"
        sleepers.wake()


# The symbol that the guest stores in place of a return address, and the commands that make it do so.
OWN_PROBES = (
    ("the guest's own arch_rethook_trampoline", "echo 'r:p ksys_read' >kprobe_events; echo 1 >events/kprobes/p/enable",
     "echo 0 >events/kprobes/p/enable; echo >kprobe_events"),
    ("the guest's own return_to_handler", "echo ksys_read >set_ftrace_filter; echo function_graph >current_tracer",
     "echo nop >current_tracer; echo >set_ftrace_filter; echo >trace"),
)  # fmt: skip


@case(configs=IN_TURN)
def graph_under_own_probes(t):
    """A task sleeps in a function that the guest itself probes and to which a traced function jumped: the guest's probe
    has saved hvtrace's handler as return address. Detach and recover wait until that function has returned."""
    for verb, (says, on, off) in zip(("recover", "detach"), OWN_PROBES):
        sleepers = Sleepers(t.guest)
        t.guest.run_own(f"cd /sys/kernel/tracing; {on}")
        try:
            traced = t.attach().__enter__()
            traced.echo("set_ftrace_filter", "__x64_sys_read")
            traced.echo("current_tracer", "function_graph")
            sleepers.start("probed")
            if verb == "recover":
                traced.kill()
            begun = time.monotonic()
            ends = t.hv.start(verb, traced.domain)
            waits = said(ends.stderr, says)
            ended = ends.poll() is not None
            in_time = time.monotonic() - begun < 5  # it retries for ten seconds; this machine may have been paused
            assert says in waits and not (ended and in_time), f"{verb} does not wait, but prints: {waits}"
            sleepers.wake()
            in_time = time.monotonic() - begun < 5
            out, err = ends.communicate(timeout=HANG_SECONDS)
            assert ends.returncode == 0 or not in_time, f"{verb}: status {ends.returncode}: {out} {err}"
            if ends.returncode:
                t.hv(verb, traced.domain)
        finally:
            t.guest.run_own(f"cd /sys/kernel/tracing; {off}")


@case(configs=EVERY[:1])
def graph_steps_aside_for_a_livepatch(t):
    """Writes into the guest's memory the kernel's state during a livepatch transition: the graph ends, recorded events
    stay, and a graph can start again only after the transition."""
    memory = Memory(t.guest)
    file = os.open(f"/proc/{t.guest.pid}/mem", os.O_WRONLY)
    at = memory.base + memory.image_gpa(memory.symbols["klp_transition_patch"])

    def transition(patch):
        os.pwrite(file, patch.to_bytes(8, "little"), at)

    try:
        with t.attach() as traced:
            traced.echo("set_ftrace_filter", "vfs_read")
            traced.echo("current_tracer", "function_graph")
            t.guest.run("cat /proc/uptime")
            transition(1)
            assert until(lambda: traced.text("current_tracer") == "nop\n"), "the tracer was not switched off"
            assert "vfs_read" in traced.text("trace"), "the recorded events are gone"
            status, out, err = t.hv.run("echo", traced.domain, "current_tracer", "function_graph")
            assert status and "livepatch is in transition" in err, f"status {status}: {out} {err}"
            transition(0)
            traced.echo("current_tracer", "function_graph")
    finally:
        transition(0)
        os.close(file)
        memory.close()


@case(configs=EVERY[1:])
def graph_torture(t):
    """Forks, threads, signals, reads of /proc, modules and load on all vCPUs, while tracers are switched and hvtrace
    attaches and detaches. HVTRACE_TEST_SWITCHES: number of switches."""
    pids = [ftrace.start_workload(t.guest, *words, 100000000) for words in (("forkstorm",), ("threads",))]
    loops = ("ls -lR /proc/self", "insmod /modules/dummy.ko; rmmod dummy")
    t.guest.run(
        f"kill -USR1 {pids[0]} {pids[1]}; rm -f /tmp/t.end /tmp/t.pids; "
        + "".join(
            f"(while sleep 0.2 && [ ! -e /tmp/t.end ]; do {loop}; done >/dev/null 2>&1 & echo $! >>/tmp/t.pids); " for loop in loops
        )
    )
    made, returns = 0, 0
    try:
        while made < SWITCHES:
            with t.attach() as traced:
                for tracer in TRACERS:
                    traced.echo("current_tracer", tracer)
                    made += 1
                    time.sleep(0.2)
                    t.guest.run("cat /proc/uptime", timeout=ftrace.LONG_SECONDS)
                traced.echo("current_tracer", "function_graph")
                made += 1
                stat = traced.stat()
                returns += stat["events"]
        t.guest.run(f"kill -0 {pids[0]} {pids[1]}", timeout=ftrace.LONG_SECONDS)  # they have run all the time
    finally:
        # The loops end by themselves, so that none is killed between insmod and rmmod.
        t.guest.run(
            f"touch /tmp/t.end; kill {pids[0]} {pids[1]}; for pid in $(cat /tmp/t.pids) {pids[0]} {pids[1]}; do "
            "while [ -d /proc/$pid ]; do sleep 0.1; done; done; ! grep -q ^dummy /proc/modules || rmmod dummy",
            timeout=ftrace.LONG_SECONDS,
        )
    t.note(f"{made} switches, {returns} events")
