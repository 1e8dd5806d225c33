# SPDX-License-Identifier: GPL-2.0-or-later
"""The buffer: per_cpu/, its sizes, and programs that read it in binary form."""

import re
import tempfile

from lib import ftrace, tracecmd
from lib.suite import STANDARD, case

BOTH = (STANDARD[0], STANDARD[2])


def trace_some(t, traced):
    """Records a few thousand events, then stops recording."""
    traced.echo("set_ftrace_filter", "vfs_*", "ksys_lseek")
    traced.echo("current_tracer", "function")
    pid = ftrace.start_workload(t.guest, "syscalls", 200)
    ftrace.go(t.guest, pid)
    traced.echo("tracing_on", "0")
    traced.echo("set_ftrace_filter", "vfs_open")


def cpus(traced):
    return len(traced.tool("ls", traced.domain, "per_cpu").split())


def stats(traced, cpu):
    text = traced.text(f"per_cpu/cpu{cpu}/stats")
    return {label: value.strip() for label, value in (line.split(":") for line in text.splitlines())}


def without_names(events):
    """Removes task names. hvtrace shows the name from a task's last record. The file of one vCPU uses only that vCPU's
    records, so the name there may be from before an exec."""
    return [e._replace(comm="") for e in events]


def of_cpus(traced, numbers):
    """Returns the events in each per_cpu/cpuN/trace."""
    return [without_names(ftrace.parse(traced.text(f"per_cpu/cpu{cpu}/trace"))[0]) for cpu in numbers]


@case()
def buffers_of_each_vcpu(t):
    """per_cpu/cpuN/trace shows that vCPU's events in trace, stats counts them, and the buffer can be cleared
    separately."""
    with t.attach() as traced:
        trace_some(t, traced)
        every = without_names(ftrace.parse(traced.text("trace"))[0])
        for cpu in range(cpus(traced)):
            alone = without_names(ftrace.parse(traced.text(f"per_cpu/cpu{cpu}/trace"))[0])
            of_all = [e for e in every if e.cpu == cpu]
            assert alone == of_all, f"cpu {cpu}: {len(alone)} of {len(of_all)}: {set(alone) ^ set(of_all)}"
            assert stats(traced, cpu)["entries"] == str(len(alone)), f"{stats(traced, cpu)}, {len(alone)} events"
        traced.echo("per_cpu/cpu0/trace", "")
        left = without_names(ftrace.parse(traced.text("trace"))[0])
        assert left == [e for e in every if e.cpu != 0], f"{len(left)} left of {len(every)}"
        assert stats(traced, 0)["entries"] == "0"
        traced.echo("current_tracer", "nop")


@case(configs=BOTH)
def trace_cmd_reads_the_pages(t):
    """`trace-cmd report` prints from the pages of trace_pipe_raw exactly the events in trace."""
    with t.attach() as traced, tempfile.TemporaryDirectory(prefix="hvtrace-test-") as directory:
        trace_some(t, traced)
        events, _ = ftrace.parse(traced.text("trace"))
        tracecmd.save(traced, directory)
        for cpu in range(cpus(traced)):
            tracecmd.take_pages(traced, f"{directory}/cpu{cpu}", cpu)
            assert stats(traced, cpu)["entries"] == "0", f"{stats(traced, cpu)}"
        matches, lines = tracecmd.report(directory, cpus(traced))
        traced.echo("current_tracer", "nop")
    # Without names: trace-cmd keeps one name per pid, the last one.
    told = [(int(m["pid"]), int(m["cpu"]), float(m["time"]), m["body"].split()[0]) for m in matches]
    want = [(e.pid, e.cpu, e.time, e.function) for e in events]
    assert len(want) > 1000, f"{len(want)} events"
    assert told == want, f"{len(told)} of {len(want)} events; {next((p for p in zip(told, want) if p[0] != p[1]), None)}\n{lines[:5]}"
    t.note(f"{len(told)} events")


@case(configs=BOTH[:1], further=BOTH[1:], sanitized=True)
def sizes_and_a_snapshot(t):
    """A buffer whose size changes keeps its events. A snapshot has all of them, and tracing continues."""
    with t.attach() as traced:
        trace_some(t, traced)
        every = traced.text("trace")
        before, _ = ftrace.parse(every)
        size = int(traced.text("buffer_size_kb"))
        traced.echo("buffer_size_kb", "1000")
        assert traced.text("buffer_size_kb") == "1000\n"
        assert traced.text("trace") == every, "the trace has changed with the size"
        traced.echo("snapshot", "1")
        assert traced.text("snapshot") == every, "the snapshot is not the trace"
        assert ftrace.parse(traced.text("trace")) == ([], 0)
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("tracing_on", "1")
        t.guest.run("cat /proc/uptime")
        events, _ = ftrace.parse(traced.text("trace"))
        assert "vfs_read" in {e.function for e in events}, f"{len(events)} events"
        assert traced.text("snapshot").splitlines()[1:] == every.splitlines()[1:], "the snapshot has changed"
        traced.echo("buffer_size_kb", "10")  # three pages, 382 records: a ring of 512, only partly used
        pid = ftrace.start_workload(t.guest, "syscalls", 500)
        ftrace.go(t.guest, pid)
        parts = of_cpus(traced, range(cpus(traced)))
        assert 200 < max(len(part) for part in parts) <= 382, f"{[len(part) for part in parts]} events in three pages"
        traced.echo("buffer_size_kb", "1")
        pid = ftrace.start_workload(t.guest, "syscalls", 500)
        ftrace.go(t.guest, pid)
        small, _ = ftrace.parse(traced.text("trace"))
        assert 0 < len(small) <= 256 * cpus(traced), f"{len(small)} events in the smallest buffer"
        assert sum(int(stats(traced, cpu)["overrun"]) for cpu in range(cpus(traced))) > 0, "no events were overwritten"
        traced.echo("trace", "")
        traced.echo("options/overwrite", "0")
        pid = ftrace.start_workload(t.guest, "syscalls", 500)
        ftrace.go(t.guest, pid)
        assert [stats(traced, cpu)["overrun"] for cpu in range(cpus(traced))] == ["0"] * cpus(traced)
        full = [cpu for cpu in range(cpus(traced)) if stats(traced, cpu)["dropped events"] != "0"]
        assert full, "no events were dropped"
        first = of_cpus(traced, full)
        assert all(0 < len(part) <= 256 for part in first), f"{[len(part) for part in first]} events without overwriting"
        pid = ftrace.start_workload(t.guest, "syscalls", 500)
        ftrace.go(t.guest, pid)
        assert of_cpus(traced, full) == first, "a full buffer without overwrite has changed"
        traced.echo("options/overwrite", "1")
        traced.echo("current_tracer", "nop")
        traced.echo("buffer_size_kb", str(size))
        traced.echo("trace", "")
        traced.echo("current_tracer", "function")
        t.guest.run("cat /proc/uptime")
        events, _ = ftrace.parse(traced.text("trace"))
        assert "vfs_read" in {e.function for e in events}, f"{len(events)} events in the guest's rings again"
        traced.echo("current_tracer", "nop")
    t.note(f"{len(before)} events, {len(small)} in the smallest buffer")


def clocks_agree(t, traced):
    """The top and instances/web record the same events: one shows times in seconds, the other in ticks."""
    pid = ftrace.start_workload(t.guest, "syscalls", 100)
    before = traced.text("trace_clock")
    traced.echo("instances/web/trace_clock", "x86-tsc")
    assert "[x86-tsc]" in traced.text("instances/web/trace_clock") and "[x86-tsc]" not in before
    assert traced.text("trace_clock") == before
    for where in ("", "instances/web/"):
        for name, text in (("set_ftrace_filter", "vfs_read"), ("set_ftrace_pid", str(pid)), ("trace", ""), ("tracing_on", "1")):
            traced.echo(where + name, text)
    ftrace.go(t.guest, pid)
    times = r" ([\d.]+): vfs_read <-"
    seconds = [float(time) for time in re.findall(times, traced.text("trace"))]
    ticks = [int(time) for time in re.findall(times, traced.text("instances/web/trace"))]
    assert len(seconds) == len(ticks) > 90, f"{len(seconds)} calls of the top, {len(ticks)} of web"
    hz = (ticks[-1] - ticks[0]) / (seconds[-1] - seconds[0])
    far = max(abs((b - ticks[0]) / hz - (a - seconds[0])) for a, b in zip(seconds, ticks))
    assert far < 5e-6, f"the clocks of the top and of web are {far * 1e6:.1f} us apart"


@case(configs=BOTH)
def instances_are_independent(t):
    """Two instances and the top, each with separate functions and tasks. The guest calls one trampoline for each function."""
    with t.attach() as traced:
        t.hv("sh", t.name, "-c", "mkdir instances/web instances/all")
        traced.echo("set_ftrace_filter", "vfs_read")
        traced.echo("instances/web/set_ftrace_filter", "vfs_read", "vfs_write")
        traced.echo("instances/all/set_ftrace_filter", "vfs_*")
        pid = ftrace.start_workload(t.guest, "syscalls", 100)
        traced.echo("instances/web/set_ftrace_pid", str(pid))
        for where in ("", "instances/web/", "instances/all/"):
            traced.echo(f"{where}current_tracer", "function")
        ftrace.go(t.guest, pid)
        for where in ("", "instances/web/", "instances/all/"):
            traced.echo(f"{where}tracing_on", "0")
        top, web, every = (ftrace.parse(traced.text(f"{where}trace")) for where in ("", "instances/web/", "instances/all/"))
        assert not every[1], f"{every[1]} lost"
        top, web, every = (without_names(events) for events, _ in (top, web, every))
        spans = [e for e in every if e.time <= min(events[-1].time for events in (top, web, every))]
        begin = max(events[0].time for events in (top, every))
        assert {e.function for e in top} == {"vfs_read"} and {e.pid for e in web} == {pid}
        assert {e.function for e in web} <= {"vfs_read", "vfs_write"}, f"{ {e.function for e in web} }"
        want = [e for e in spans if e.function == "vfs_read" and e.time >= begin]
        told = [e for e in top if begin <= e.time <= spans[-1].time]
        assert told == want and len(told) > 90, f"{len(told)} calls of the top, {len(want)} of all"
        want = [e for e in spans if e.function in ("vfs_read", "vfs_write") and e.pid == pid]
        assert [e for e in web if e.time <= spans[-1].time] == want, f"{len(web)} calls of web, {len(want)} of all"
        traced.echo("instances/all/current_tracer", "nop")
        clocks_agree(t, traced)
        sites = {line.split()[0] for line in traced.text("enabled_functions").splitlines()}
        assert sites == {"vfs_read"}, f"{sites}"
        t.hv("sh", t.name, "-c", "rmdir instances/web instances/all")
        assert traced.tool("ls", t.name, "instances") == ""
        traced.echo("current_tracer", "nop")
    t.note(f"{len(top)} events of the top, {len(web)} of a task, {len(every)} of all")
