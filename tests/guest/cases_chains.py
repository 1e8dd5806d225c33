# SPDX-License-Identifier: GPL-2.0-or-later
"""Functions that the guest's own tracers and hvtrace trace at the same time."""

import collections
import re

from lib import ftrace
from lib.suite import IN_TURN, case
from lib.wait import until

OWN = "/sys/kernel/tracing"
ROUNDS = 20
FUNCTIONS = ("vfs_open", "vfs_read", "vfs_statx")
# A site with one user calls that user's trampoline; with two, ftrace_caller; with a kprobe, which needs the registers,
# ftrace_regs_caller.
ONE = f"cd {OWN} && echo 8192 >buffer_size_kb && echo {' '.join(FUNCTIONS)} >set_ftrace_filter && echo function >current_tracer"
TWO = f"cd {OWN} && mkdir instances/own && echo vfs_open >instances/own/set_ftrace_filter && echo function >instances/own/current_tracer"
PROBE = f"cd {OWN} && echo 'p:own vfs_read' >kprobe_events && echo 1 >events/kprobes/own/enable"
END = (
    f"cd {OWN}; echo nop >current_tracer; echo >set_ftrace_filter; echo 0 >events/enable; echo >kprobe_events; rmdir instances/own;"
    " echo >trace; echo 1 >buffer_size_kb; true"
)


def own_calls(t, pid):
    """Returns the calls of PID that the guest's own tracer has recorded."""
    text = t.guest.run(f"cat {OWN}/trace")
    return ftrace.calls(ftrace.parse("\n".join(line for line in text.splitlines() if " <-" in line))[0], pid)


def check_agreement(t, traced):
    """The guest and hvtrace record the calls of FUNCTIONS, and they agree on one run of the workload."""
    pid = ftrace.start_workload(t.guest, "syscalls", ROUNDS)
    t.guest.run(f"echo >{OWN}/trace")
    traced.echo("trace", "")
    ftrace.go(t.guest, pid)
    ours = [call for call in ftrace.calls(ftrace.parse(traced.text("trace"))[0], pid) if call[0] in FUNCTIONS]
    own = own_calls(t, pid)
    assert len(ours) >= ROUNDS and ours == own, f"{len(ours)} and {len(own)} calls: {ours[:5]} {own[:5]}"
    return len(own)


@case(configs=IN_TURN[:1], further=IN_TURN[1:], sanitized=True)
def functions_that_the_guest_traces_are_joined(t):
    """The guest's own function tracer, a second user and a kprobe use functions when hvtrace attaches. hvtrace traces
    them, too, and both record the same calls in the same order. detach and recover leave the guest's own tracing as it
    was."""
    t.guest.run_own(f"{ONE} && {TWO} && {PROBE}")
    try:
        with t.attach() as traced:
            traced.echo("set_ftrace_filter", "vfs_*")
            traced.echo("current_tracer", "function")
            sites = traced.stat()["sites"]
            assert sites["refused"] == 0, sites
            nr = check_agreement(t, traced)
        t.guest.run(f"echo >{OWN}/trace; cat /proc/uptime")
        assert "vfs_open <-" in t.guest.run(f"cat {OWN}/trace"), "the guest's own tracing has stopped"
        traced = t.attach().__enter__()
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        check_agreement(t, traced)
        traced.kill()
        t.guest.run(f"echo >{OWN}/trace; cat /proc/uptime")
        t.recover()
        t.guest.run("cat /proc/uptime")
        own = t.guest.run(f"cat {OWN}/trace")
        assert "vfs_open <-" in own and "own: (vfs_read" in own, f"the guest's own tracing has stopped: {own[-1000:]}"
        t.note(f"{nr} calls")
    finally:
        t.guest.run_own(END)


@case(configs=IN_TURN[:1], further=IN_TURN[1:])
def functions_that_the_guest_takes_are_joined_again(t):
    """The guest's own users begin and end while hvtrace traces. hvtrace traces their functions again each time, and
    reports for how long it did not see their calls."""
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        patched = traced.stat()["sites"]["patched"]
        longest = 0
        for own, joined in ((ONE, 3), (TWO, 3), (PROBE, 3), (END, 0)):
            before = traced.stat()["sites"]["unseen"]["times"]
            traced.echo("trace", "")
            t.guest.run_own(own)
            assert until(
                lambda: (s := traced.stat()["sites"]) and s["unseen"]["times"] > before and not s["unseen"]["now"] and s["joined"] == joined
            ), f"{own}: {traced.stat()['sites']}"
            sites = traced.stat()["sites"]
            assert sites["patched"] == patched and not sites["refused"] and sites["in_use"] == joined, sites
            line = re.search(r"tracing_mark_write: hvtrace: (\d+) functions? w.* not seen for up to (\d+) ms while the guest changed (it|them): (.*)", traced.text("trace"))
            assert line and "vfs_" in line[4], traced.text("trace")[-1000:]
            longest = max(longest, int(line[2]))
            if joined:
                check_agreement(t, traced)
        shown = t.hv("stat", t.name)
        assert re.search(r"(?m)^not seen +\d+ times a function that the guest changed, for up to \d+ ms$", shown), shown
        t.note(f"not seen for up to {longest} ms")


# Each of these functions has one user, which leaves return addresses alone.
ALONE = (
    f"cd {OWN} && echo 8192 >buffer_size_kb && echo vfs_open vfs_statx >set_ftrace_filter && echo function >current_tracer"
    " && echo 'p:own vfs_read' >kprobe_events && echo 1 >events/kprobes/own/enable"
)


def of_graph(text, pid):
    """Returns {function: number of complete calls} of PID in the text of function_graph."""
    return collections.Counter(re.findall(rf"-{pid} +\|.*? (\w+)\(\);", text))


def counts_of(t, traced, pid, tracer):
    """Runs the workload. Returns {function: number of calls} that hvtrace and the guest have recorded of it."""
    t.guest.run(f"echo >{OWN}/trace")
    traced.echo("trace", "")
    ftrace.go(t.guest, pid)
    text = traced.text("trace")
    own = collections.Counter(name for name, _ in own_calls(t, pid))
    own["vfs_read"] = len(re.findall(rf"-{pid} .*: own: \(vfs_read", t.guest.run(f"cat {OWN}/trace")))
    if tracer == "function_graph":
        return text, of_graph(text, pid), own
    lines = "\n".join(line for line in text.splitlines() if " <-" in line and "(" not in line)
    return text, collections.Counter(name for name, _ in ftrace.calls(ftrace.parse(lines)[0], pid)), own


@case(configs=IN_TURN[:1], further=IN_TURN[1:])
def every_tracer_joins_functions(t):
    """The guest's function tracer and a kprobe use functions. hvtrace's function tracer with stacks and commands, its
    probes, function_graph and profile count the same calls. When a kretprobe of the guest might keep return addresses,
    function_graph refuses that function, and no other."""
    t.guest.run_own(ALONE)
    try:
        with t.attach() as traced:
            traced.echo("options/funcgraph-proc", "1")
            traced.echo("set_ftrace_filter", *FUNCTIONS)
            for tracer in ("function", "function_graph"):
                traced.echo("current_tracer", tracer)
                sites = traced.stat()["sites"]
                assert sites["joined"] == 3 and not sites["refused"], f"{tracer}: {sites}"
                _, ours, own = counts_of(t, traced, ftrace.start_workload(t.guest, "syscalls", ROUNDS), tracer)
                assert ours == own and own["vfs_read"] >= ROUNDS and own["vfs_open"], f"{tracer}: {ours} {own}"
            # Commands and probes have action groups.
            traced.echo("current_tracer", "function")
            traced.echo("set_ftrace_filter", "vfs_open:stacktrace", append=True)
            traced.echo("kprobe_events", "p:read vfs_read count=$arg3", append=True)
            for function in ("vfs_open", "vfs_read"):
                traced.echo("kprobe_events", f"r:after_{function} {function} ret=$retval", append=True)
            traced.echo("events/kprobes/enable", "1")
            sites = traced.stat()["sites"]
            assert sites["joined"] == 3 and not sites["refused"], sites
            pid = ftrace.start_workload(t.guest, "syscalls", ROUNDS)
            text, ours, own = counts_of(t, traced, pid, "function")
            assert ours == own, f"{ours} {own}"
            for pattern, function in (
                (r"<stack trace>", "vfs_open"),
                (r"read: \(vfs_read\+0x[04]/0x\w+\) count=", "vfs_read"),
                (r"after_vfs_open: \(\w+\+0x\w+/0x\w+ <- vfs_open\)", "vfs_open"),
                (r"after_vfs_read: \(\w+\+0x\w+/0x\w+ <- vfs_read\)", "vfs_read"),
            ):
                nr = len(re.findall(rf"-{pid} .*: {pattern}", text))
                assert nr == own[function], f"{pattern}: {nr} of {own}: {text[-3000:]}"
            traced.echo("events/kprobes/enable", "0")
            traced.echo("kprobe_events", "")
            traced.echo("set_ftrace_filter", "!vfs_open:stacktrace", append=True)
            traced.echo("current_tracer", "nop")
            traced.echo("function_profile_enabled", "1")
            _, _, own = counts_of(t, traced, ftrace.start_workload(t.guest, "syscalls", ROUNDS), "function")
            traced.echo("function_profile_enabled", "0")
            hits = collections.Counter()
            for cpu in range(t.guest.config.vcpus):
                for row in traced.text(f"trace_stat/function{cpu}").splitlines()[2:]:
                    hits[row.split()[0]] += int(row.split()[1])
            assert all(hits[function] >= own[function] for function in FUNCTIONS), f"{hits} {own}"
            # A kretprobe of the guest may keep return addresses.
            traced.echo("current_tracer", "function_graph")
            t.guest.run_own(f"cd {OWN} && echo 'r:back vfs_read' >>kprobe_events && echo 1 >events/kprobes/back/enable")
            traced.echo("current_tracer", "nop")
            traced.echo("current_tracer", "function_graph")
            sites = traced.stat()["sites"]
            assert sites["joined"] == 2 and sites["refused"] == 1, sites
            t.guest.run(f"echo >{OWN}/trace; cat /proc/uptime")
            assert "back: (" in t.guest.run(f"cat {OWN}/trace"), "the guest's own kretprobe has stopped"
        t.guest.run(f"echo >{OWN}/trace; cat /proc/uptime")
        own = t.guest.run(f"cat {OWN}/trace")
        assert "vfs_open <-" in own and "own: (vfs_read" in own, f"the guest's own tracing has stopped: {own[-1000:]}"
    finally:
        t.guest.run_own(END)


def programs(t, pid):
    """Starts a BPF program at the calls of vfs_open and one at the returns of vfs_read, which count for PID."""
    for function, how in (("vfs_open", ""), ("vfs_read", "returns")):
        t.guest.run_own(
            f"fentry {pid} {function} {how} >/tmp/{function} 2>&1 & echo $! >/tmp/{function}.pid;"
            f" until grep -q . /tmp/{function}; do sleep 0.1; done; grep counts /tmp/{function}"
        )


def end_programs(t):
    """Ends the programs. Yields the count of each."""
    for function in ("vfs_open", "vfs_read"):
        said = t.guest.run_own(
            f"kill -USR1 $(cat /tmp/{function}.pid); while [ -d /proc/$(cat /tmp/{function}.pid) ]; do sleep 0.1; done;"
            f" tail -n 1 /tmp/{function}; rm /tmp/{function} /tmp/{function}.pid"
        )
        yield function, int(said)


@case(configs=IN_TURN[1:], further=IN_TURN[:1], sanitized=True)
def functions_of_bpf_programs_are_joined(t):
    """BPF programs (fentry and fexit), started before attach or while hvtrace traces, count the calls of functions.
    hvtrace's function tracer, function_graph and return probes record as many."""
    for tracer, begun_before in (("function_graph", True), ("function", False)):
        pid = ftrace.start_workload(t.guest, "syscalls", ROUNDS)
        if begun_before:
            programs(t, pid)
        with t.attach() as traced:
            traced.echo("set_ftrace_filter", "vfs_open vfs_read")
            traced.echo("set_ftrace_pid", str(pid))
            traced.echo("options/funcgraph-proc", "1")
            traced.echo("current_tracer", tracer)
            if tracer == "function_graph":
                traced.echo("kprobe_events", "r:after vfs_read ret=$retval")
                traced.echo("events/kprobes/after/enable", "1")
            if not begun_before:
                programs(t, pid)
            assert until(lambda: traced.stat()["sites"]["joined"] == 2), traced.stat()["sites"]
            ftrace.go(t.guest, pid)
            text = traced.text("trace")
            if tracer == "function":
                ours = collections.Counter(name for name, _ in ftrace.calls(ftrace.parse(text, strict=False)[0], pid))
            else:
                ours = of_graph(text, pid)
            counts = dict(end_programs(t))
            for function, count in counts.items():
                assert count == ours[function] >= ROUNDS, f"{counts}: {ours} {text[-2000:]}"
            if tracer == "function_graph":
                assert len(re.findall(rf"-{pid} +\|.*after: \(.* <- vfs_read\)", text)) == counts["vfs_read"], f"{counts} {text[-2000:]}"
            t.note(f"{counts}")
