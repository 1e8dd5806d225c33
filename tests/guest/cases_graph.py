"""What function_graph says, against the guest's own."""

import collections

from lib import ftrace, graph
from lib.suite import ONE_VCPU, STANDARD, case

# Nothing of these is called in an interrupt.
FILTERS = ("vfs_*", "ksys_*", "*pipe*", "*rmdir*", "*mkdir*", "*faccessat*", "path_*", "rw_verify_area", ftrace.ROUND)
COLUMNS = ("funcgraph-proc", "funcgraph-tail")
ROUNDS = 20
EVERY = (STANDARD[0], STANDARD[2])


def trees(text, pid, odd=None):
    lines, lost = graph.parse(text)
    assert lost == 0, f"{lost} events lost"
    return graph.trees(lines, pid, odd)


def both(t, filters, files=(), odd=None):
    """(the guest's own roots, hvtrace's), each of one run of the workload, and both texts. FILES:
    (name, text) pairs that are set before. ODD: takes the lines of hvtrace's that do not nest; None:
    there must be none."""
    own, own_pid = ftrace.own_trace(
        t.guest, ("syscalls", ROUNDS), filters, tracer="function_graph", options=COLUMNS, files=files
    )
    with t.attach() as traced:
        ours, our_pid = ftrace.hvtrace_trace(
            traced, t.guest, ("syscalls", ROUNDS), filters, tracer="function_graph", options=COLUMNS, files=files
        )
    strays = [] if odd is None else odd
    our_trees = trees(ours, our_pid, strays)
    assert odd is not None or not strays, f"{len(strays)} lines do not nest: {strays[:3]}"
    # The guest's own misses a return here and there when interrupts are traced.
    return trees(own, own_pid), our_trees, own, ours


def head(text):
    return [line for line in text.splitlines() if line.startswith("#")]


@case()
def graph_agrees_with_own(t):
    """The same workload, a few globs: the same calls inside the same calls, in the same order, folded
    alike; and the same header."""
    own, ours, own_text, our_text = both(t, FILTERS)
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


@case(configs=ONE_VCPU)
def graph_of_all_agrees_with_own(t):
    """All functions: what every round calls by the same way equally often in the guest's own runs is
    called as often with hvtrace. The others (allocation, interrupts) vary by themselves."""

    def counted(roots):
        return collections.Counter(path for path, _ in graph.walk(graph.rounds(roots, ftrace.ROUND)))

    # In __switch_to the stack is the next task's already, which a depth is of, and the pid still this one's;
    # an interrupt may come between a frame and the record of its call.
    odd = []
    runs = [both(t, (), odd=odd) for _ in range(2)]
    nr = sum(run[3].count("\n") for run in runs)
    assert 100 * len(odd) < nr, f"{len(odd)} of {nr} lines do not nest: {collections.Counter(line.name for line in odd)}"
    own, ours = [counted(run[0]) for run in runs], [counted(run[1]) for run in runs]
    stable = {p: n for p, n in own[0].items() if own[1][p] == n and n % (ROUNDS - 1) == 0}
    assert len(stable) > 50, f"only {len(stable)} stable ways"
    differ = {p: (n, *(run[p] for run in ours)) for p, n in stable.items() if all(run[p] != n for run in ours)}
    assert not differ, f"{len(differ)} of {len(stable)} ways differ (own, hvtrace): {list(differ.items())[:4]}"
    t.note(f"{sum(stable.values())} calls by {len(stable)} ways agree, {len(own[0]) - len(stable)} ways vary")
    t.note(f"{len(odd)} of {nr} lines do not nest")


@case(configs=EVERY)
def graph_functions_and_depth(t):
    """set_graph_function, set_graph_notrace and max_graph_depth do what they do in the guest."""
    for files, nr_roots in (
        ((("set_graph_function", "ksys_read"),), {"ksys_read"}),
        ((("set_graph_function", "ksys_read"), ("set_graph_notrace", "vfs_read")), {"ksys_read"}),
        ((("max_graph_depth", "2"),), None),
    ):
        own, ours, _, _ = both(t, (*FILTERS, "__x64_sys_*"), files)
        differ = graph.difference(own, ours)
        assert not differ, f"{files}: (own, hvtrace): {differ}"
        assert len(own) >= ROUNDS, f"{files}: only {len(own)} outermost calls"
        assert not nr_roots or {call.name for call in ours} == nr_roots, f"{files}: { {c.name for c in ours} }"
        deepest = max(len(path) for path, _ in graph.walk(ours))
        t.note(f"{files[-1][0]}: {len(ours)} outermost calls, {deepest} deep")


@case(configs=EVERY)
def graph_threshold(t):
    """tracing_thresh: only returns, and only of calls that took as long; durations are those of sleeps."""
    with t.attach() as traced:
        traced.echo("tracing_thresh", "150000")
        traced.echo("set_ftrace_filter", "*nanosleep*", "vfs_read")
        traced.echo("options/funcgraph-proc", "1")
        traced.echo("current_tracer", "function_graph")
        t.guest.run("sleep 0.3; sleep 0.02; cat /proc/uptime")
        text = traced.text("trace")
    lines, _ = graph.parse(text)
    assert lines, f"nothing recorded: {text!r}"
    assert {line.kind for line in lines} == {graph.LEAVE}, f"not only returns: {text}"
    slow = [line for line in lines if "nanosleep" in line.name]
    assert slow and all(300000 <= line.us < 20000000 for line in slow), f"{text}"
    assert "vfs_read" not in text, text
    t.note(f"{len(slow)} returns after at least {min(line.us for line in slow) / 1e6:.3f} s")


@case(configs=EVERY)
def graph_values(t):
    """funcgraph-retval: what reads of the workload return, an errno in decimal."""
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
    """hvtrace record -p function_graph -g: a tree of that function, settings put back."""
    with t.attach() as traced:
        words = ("-p", "function_graph", "-g", "ksys_read", "-l", "ksys_*", "-l", "vfs_*", "-l", "rw_verify_area")
        recording = t.hv.start("record", *words, traced.domain, "--for", "3")
        try:
            for _ in range(40):
                if recording.poll() is not None:
                    break
                t.guest.run("cat /proc/uptime; sleep 0.2")
            out, err = recording.communicate(timeout=60)
        finally:
            recording.kill()
        text = out.decode()
        assert recording.returncode == 0, err.decode()
        assert "|  ksys_read() {\n" in text, f"{text[:1000]!r}"
        assert "|    vfs_read() {\n" in text and "|      rw_verify_area();\n" in text, text[:1000]
        assert "|  vfs_" not in text and "|  ksys_write" not in text, text[:1000]
        assert traced.text("current_tracer") == "nop\n"
        assert "all functions" in traced.text("set_graph_function")
