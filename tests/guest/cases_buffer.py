"""The buffer: per_cpu/, its sizes, and what binary readers make of it."""

import tempfile

from lib import ftrace, tracecmd
from lib.suite import STANDARD, case


def trace_some(t, traced):
    """A few thousand events in the buffer, and recording off."""
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


@case()
def each_vcpu_by_itself(t):
    """per_cpu/cpuN/trace has what trace has of that vCPU, stats counts it, and it is cleared alone."""
    with t.attach() as traced:
        trace_some(t, traced)
        every, _ = ftrace.parse(traced.text("trace"))
        for cpu in range(cpus(traced)):
            alone, _ = ftrace.parse(traced.text(f"per_cpu/cpu{cpu}/trace"))
            assert alone == [e for e in every if e.cpu == cpu], f"cpu {cpu}: {len(alone)} of {len(every)}"
            assert stats(traced, cpu)["entries"] == str(len(alone)), f"{stats(traced, cpu)}, {len(alone)} events"
        traced.echo("per_cpu/cpu0/trace", "")
        left, _ = ftrace.parse(traced.text("trace"))
        assert left == [e for e in every if e.cpu != 0], f"{len(left)} left of {len(every)}"
        assert stats(traced, 0)["entries"] == "0"
        traced.echo("current_tracer", "nop")


@case(configs=STANDARD)
def trace_cmd_reads_the_pages(t):
    """`trace-cmd report` prints of trace_pipe_raw's pages the very events that trace shows."""
    with t.attach() as traced, tempfile.TemporaryDirectory(prefix="hvtrace-test-") as directory:
        trace_some(t, traced)
        events, _ = ftrace.parse(traced.text("trace"))
        tracecmd.save(traced, directory)
        for cpu in range(cpus(traced)):
            tracecmd.take_pages(traced, f"{directory}/cpu{cpu}", cpu)
            assert stats(traced, cpu)["entries"] == "0", f"{stats(traced, cpu)}"
        matches, lines = tracecmd.report(directory, cpus(traced))
        traced.echo("current_tracer", "nop")
    # names are left out: trace-cmd knows one a pid, the last
    told = [(int(m["pid"]), int(m["cpu"]), float(m["time"]), m["body"].split()[0]) for m in matches]
    want = [(e.pid, e.cpu, e.time, e.function) for e in events]
    assert len(want) > 1000, f"{len(want)} events"
    assert told == want, f"{len(told)} of {len(want)} events; {next((p for p in zip(told, want) if p[0] != p[1]), None)}\n{lines[:5]}"
    t.note(f"{len(told)} events")
