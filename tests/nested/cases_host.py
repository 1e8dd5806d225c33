# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of the host among the guest's (docs/users/events.md): their order, and that recording stops when the session
has ended in any way."""

import collections
import contextlib
import json
import os
import re
import signal
import subprocess
import tempfile
import time

from cases_stalls import load_plants, measure
from lib.process import vcpu_thread
from lib.suite import STANDARD, case
from lib.wait import HANG_SECONDS

BOTH = (STANDARD[0], STANDARD[2])
INSTANCES = "/sys/kernel/tracing/instances"
LINES = 30  # lines that the guest writes to its console, on each vCPU

# A line of function_graph: " 1) + 12.3 us    |  }"
GRAPH = re.compile(r"^ *(\d+)\) .*\|(.*)$")


def instances():
    return [name for name in os.listdir(INSTANCES) if name.startswith("hvtrace-")]


def provoke(t):
    """Calls io_serial_in and io_serial_out, each with one port I/O, on both vCPUs together."""
    write = f"i=0; while [ $i -lt {LINES} ]; do echo 0123456789012345678901234567890123456789 >/dev/ttyS0; i=$((i+1)); done"
    t.guest.run(f"taskset 1 sh -c '{write}' & taskset 2 sh -c '{write}'; wait", timeout=240)


class Order:
    """Calls in the text of function_graph, and the one exit that each causes: every exit must be between its call's
    entry and return, on its vCPU."""

    def __init__(self, function, reason):
        self.function = re.compile(function)
        self.reason = f" reason {reason} "
        self.calls = {}  # per vCPU
        self.seen = {}  # number of exits per address in a call

    def check(self, text):
        inside, foreign = {}, []
        assert "LOST" not in text, "events were lost"
        for line in text.splitlines():
            match = GRAPH.match(line)
            if not match:
                continue
            cpu, what = match[1], match[2].strip()
            assert not self.function.match(what) or not what.endswith("();"), f"a call without its exit: {line}"
            if self.function.match(what):
                assert cpu not in inside, f"a call in a call: {line}"
                inside[cpu] = 0
            elif what.startswith("}") and cpu in inside:
                assert inside.pop(cpu) == 1, f"not one exit before {line}"
                self.calls[cpu] = self.calls.get(cpu, 0) + 1
            elif "kvm_exit" in what and self.reason in what:
                rip = re.search(r" rip (0x[0-9a-f]+)", what)[1]
                if cpu in inside:
                    inside[cpu] += 1
                    self.seen[rip] = self.seen.get(rip, 0) + 1
                else:
                    foreign.append(rip)
        wrong = [rip for rip in foreign if rip in self.seen]
        assert not wrong, f"{len(wrong)} exits of these functions outside of a call"


@contextlib.contextmanager
def traced_with_exits(t, *functions):
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", *functions)
        traced.echo("set_event", "host:kvm_exit")
        traced.echo("current_tracer", "function_graph")
        yield traced
    assert not instances(), instances()


def text_of(traced):
    time.sleep(0.5)  # hvtrace shows host events only after earlier events of the guest
    traced.echo("tracing_on", "0")
    return traced.text("trace", timeout=300)


@case(configs=BOTH)
def exits_are_in_their_calls(t):
    """Port I/O in a traced function: its exit is always between the call and the return, on its vCPU."""
    order = Order(r"io_serial_\w+\(", "io")
    with traced_with_exits(t, "io_serial_in", "io_serial_out") as traced:
        provoke(t)
        order.check(text_of(traced))
    assert set(order.calls) == {"0", "1"} and min(order.calls.values()) > 100, f"calls by vCPU: {order.calls}"
    assert len(order.seen) <= 4, f"exits at {order.seen}"
    t.note(f"{sum(order.calls.values())} calls on both vCPUs, each with its exit")


CALLS = int(os.environ.get("HVTRACE_TEST_CALLS", "1000"))  # of a kernel function that executes CPUID once
ROUND = 250  # calls on each vCPU between two checks


@case(configs=BOTH[:1])
def cpuid_is_in_its_call(t):
    """CPUID in a traced function that runs on both vCPUs together: its exit is always between the call and the
    return."""
    load_plants(t)
    order = Order(r"kvm_arch_para_hints\(", "cpuid")
    with traced_with_exits(t, "kvm_arch_para_hints") as traced:
        while sum(order.calls.values()) < CALLS:
            t.guest.run(f"planted cpuid {ROUND}", timeout=240)
            order.check(text_of(traced))
            calls = set(order.calls.values())
            assert set(order.calls) == {"0", "1"} and len(calls) == 1 and calls.pop() % ROUND == 0, f"calls by vCPU: {order.calls}"
            traced.echo("trace", "")
            traced.echo("tracing_on", "1")
    assert len(order.seen) == 1, f"exits at {order.seen}"
    t.note(f"{sum(order.calls.values())} calls on both vCPUs, each with its exit")


@case(configs=BOTH[:1])
def host_events_in_their_files(t):
    """The files of events/host/: only requested events are recorded, by id, filter and instance, and `trace` shows the
    tasks on the CPU."""
    with t.attach() as traced:
        traced.echo("events/enable", "1")
        assert "host:" not in traced.text("set_event"), "events/enable has enabled host events"
        assert not instances(), instances()
        traced.echo("events/enable", "0")
        assert "field:unsigned int vcpu_id;" in traced.text("events/host/kvm_exit/format")
        traced.echo("events/host/kvm_exit/filter", "vcpu_id == 1")
        traced.echo("set_event", "host:kvm_exit", "host:sched_switch")
        assert len(instances()) == 1, instances()
        t.guest.run("taskset 1 cat /proc/uptime; taskset 2 cat /proc/uptime; sleep 0.2; cat /proc/uptime")
        text = traced.text("trace")
        exits = re.findall(r"<host>-\d+ +\[(\d+)\].*: kvm_exit: vcpu (\d+) ", text)
        assert exits and set(exits) == {("001", "1")}, set(exits)
        switches = re.findall(r"<host>-\d+ .*: sched_switch: prev_comm=.* ==> next_comm=.* next_pid=\d+", text)
        assert switches, "no switches"
        assert not re.search(r"<host>.*kvm_entry", text), "an event that was not enabled"
        traced.echo("set_event", "!host:*", append=True)
        assert not instances() and not traced.text("set_event"), instances()
    t.note(f"{len(exits)} exits, {len(switches)} switches")


# A line of `hvtrace report`: "<host>-149  [001] d..1.  45.521804: kvm_exit: ..."
REPORTED = re.compile(r".*-\d+ +\[(\d+)\] \S+ +([\d.]+): (\w+)")


@case(configs=BOTH[:1])
def host_events_have_a_file(t):
    """record -o: guest and host events in two files with common times. Between two calls of a function that does port
    I/O, the vCPU exits."""
    with tempfile.TemporaryDirectory() as work, t.attach() as traced:
        guest, host = f"{work}/t.dat", f"{work}/t-host.dat"
        words = ("-p", "function", "-l", "io_serial_*", "-e", "host:kvm_exit", "-e", "host:kvm_entry")
        process = t.hv.start("record", *words, "-o", guest, traced.domain)
        t.await_record(process, "function")
        provoke(t)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANG_SECONDS)
        assert b" 0 lost" in err, err
        lines = [match.groups() for name in (guest, host) for match in map(REPORTED.match, t.hv("report", name).splitlines()) if match]
    lines.sort(key=lambda line: float(line[1]))
    gaps = 0
    for cpu in ("000", "001"):
        what = [event for at, _, event in lines if at == cpu and event != "kvm_entry"]
        assert what.count("function") > 100, f"vCPU {cpu}: {collections.Counter(what)}, {err.decode()}"
        twice = [n for n, (one, next_one) in enumerate(zip(what, what[1:])) if one == next_one == "function"]
        assert not twice, f"vCPU {cpu}: {len(twice)} calls without an exit before the next, the first at {twice[0]}"
        gaps += what.count("function") - 1
    t.note(f"{gaps} times an exit between two calls")


@case(configs=BOTH[:1])
def host_tracing_ends_with_the_session(t):
    """Detach, a killed service, and recover after everything was killed leave no instance in the host's tracefs."""
    with t.attach() as traced:
        traced.echo("set_event", "host:kvm_exit")
        assert len(instances()) == 1, instances()
    assert not instances(), f"after detach: {instances()}"
    with t.attach() as traced:
        traced.echo("set_event", "host:kvm_exit")
        traced.kill()
        assert len(instances()) == 1, instances()
        t.recover()
        assert not instances(), f"after recover: {instances()}"
        t.hv("attach", t.name)


# A line of function_graph with its time: "  970.332150 |   0) * 12345.6 us |  } /* host: 5000.1 us */"
TIMED = re.compile(r"^ *(\d+\.\d{6}) \| +0\) *(?:\S? *([\d.]+) us +)?\|  (.*)$")
COPIES = 60  # of a MiB
COPY = f"taskset 1 dd if=/dev/zero of=/dev/null bs=1M count={COPIES}"
FEW = 20
FEW_COPIES = f"taskset 1 dd if=/dev/zero of=/dev/null bs=1M count={FEW}"
ONLY_COPY = "read_zero"  # only COPY and FEW_COPIES call it
THRESH_US = 3000


@contextlib.contextmanager
def crowded(tid):
    """Makes the thread share a CPU with a busy program."""
    cpus = os.sched_getaffinity(tid)
    cpu = max(cpus)
    os.sched_setaffinity(tid, {cpu})
    with subprocess.Popen(["taskset", "-c", str(cpu), "sh", "-c", "while :; do :; done"]) as hog:
        try:
            yield
        finally:
            hog.kill()
            os.sched_setaffinity(tid, cpus)


def host_us(line):
    match = re.search(r"/\* host: ([\d.]+) us \*/", line)
    return float(match[1]) if match else 0.0


def returns(text):
    """Returns [(us, us of the host)] of the first vCPU's returns."""
    found = [match for match in map(TIMED.match, text.splitlines()) if match]
    return [(float(match[2]), host_us(match[3])) for match in found if match[2]]


def profiled_host_us(text, function):
    """Returns the column Host of a function in trace_stat/."""
    lines = [line.split() for line in text.splitlines()]
    assert lines[0][-1] == "Host", text
    return sum(float(line[-2]) for line in lines if line[0] == function)


def taken_of_calls(text, tid):
    """Returns [(us of the host in the line, us that the thread was off its CPU in that time)] of the first vCPU's
    calls, which are not nested. Excludes calls in which the thread slept, because the host counts only the time
    after the wake-up; and calls in which the guest ran another task, because that task's time does not belong to the
    call."""
    calls, inside, since, taken, unclear = [], 0, None, 0.0, False
    for match in filter(None, map(TIMED.match, text.splitlines())):
        now, what = float(match[1]) * 1e6, match[3]
        if "sched_switch:" in what and f" prev_pid={tid} " in what:
            since, unclear = now, unclear or " prev_state=R" not in what
        elif "sched_switch:" in what and f" next_pid={tid} " in what and since:
            taken, since = taken + now - since, None
        elif "sched_switch:" in what:
            unclear = unclear or "/KVM" not in what
        elif what.endswith("{"):
            inside, taken, unclear = inside + 1, 0.0, False
        elif what.startswith("}") and inside:
            if inside == 1 and not unclear:
                calls.append((host_us(what), taken))
            inside = 0
        elif "();" in what and not inside:
            calls.append((host_us(what), 0.0))
    return calls


@contextlib.contextmanager
def counted(t, traced, function):
    """Runs hvtrace hist --host-time of FUNCTION in the `with` block. Afterwards the list has its object."""
    found = []
    process = t.hv.start("hist", "--json", "--host-time", traced.domain, function)
    try:
        t.await_record(process, "function_graph")
        yield found
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG_SECONDS)
    finally:
        process.kill()
    assert b" 0 lost" in err, err
    found.append(json.loads(out))


def summaries_agree(t, traced):
    """The profile, hist and latency agree on the calls of ONLY_COPY."""
    traced.echo("set_ftrace_filter", ONLY_COPY)
    traced.echo("options/funcgraph-host", "1")
    traced.echo("function_profile_enabled", "1")
    calls, words = [], ("-l", ONLY_COPY, "--threshold=10s", "--max-overhead=100")
    with counted(t, traced, ONLY_COPY) as histogram:
        measure(t, traced, lambda: t.guest.run(FEW_COPIES, timeout=240), *words, until_planted=True, calls=calls)
    traced.echo("function_profile_enabled", "0")
    profiled = profiled_host_us(traced.text("trace_stat/function0"), ONLY_COPY)
    (call,), (found,) = calls, histogram
    assert (call["function"], call["calls"], found["function"], found["calls"]) == (ONLY_COPY, FEW, ONLY_COPY, FEW), (call, found)
    assert found["host"] == sum(bucket["host"] for bucket in found["buckets"]) <= found["total"], found
    # The trampoline reads the steal time separately for hist and the profile; the host may stop the vCPU in between.
    bound = found["host"] / 10 + max(bucket["host"] for bucket in found["buckets"])
    assert profiled > 0 and abs(found["host"] - profiled * 1000) <= bound, f"hist: {found}, the profile {profiled} us"
    # The two measure with different clocks.
    assert abs(call["longest_ns"] - found["longest"]) <= found["longest"] / 100, (call, found)
    assert 0 < call["host_ns"] <= min(call["longest_ns"], found["host"]), (call, found)
    t.note(f"{FEW} calls of {ONLY_COPY}: {found['host'] / 1000:.0f} us taken by the host, {profiled:.0f} in the profile")
    t.note(f"the longest {call['longest_ns'] / 1000:.0f} us, {call['host_ns'] / 1000:.0f} us of it taken by the host")


@case(configs=BOTH)
def host_time_of_calls(t):
    """funcgraph-host: the time that the host's scheduler took of each call, according to its own events. The profile's
    sum agrees, and so do hist and latency. Thresholds exclude it."""
    tid = vcpu_thread(t.guest.pid, 0)
    with t.attach() as traced, crowded(tid):
        traced.echo("set_ftrace_filter", "vfs_read")
        traced.echo("options/funcgraph-host", "1")
        traced.echo("options/funcgraph-abstime", "1")
        traced.echo("set_event", "host:sched_switch", "sched:sched_switch")
        traced.echo("current_tracer", "function_graph")
        traced.echo("function_profile_enabled", "1")
        t.guest.run(COPY, timeout=240)
        time.sleep(0.5)  # as in text_of()
        traced.echo("function_profile_enabled", "0")
        counted = profiled_host_us(traced.text("trace_stat/function0"), "vfs_read")
        text = traced.text("trace", timeout=300)
        assert "LOST" not in text, "events were lost"
        wrong = [call for call in returns(text) if call[1] > call[0]]
        assert not wrong, f"more than the call: {wrong}"
        calls = taken_of_calls(text, tid)
        wrong = [call for call in calls if abs(call[0] - call[1]) > 500 + call[1] / 10]
        assert len(calls) >= COPIES / 2 and not wrong, f"of {len(calls)} calls: {wrong}"
        said, taken = sum(call[0] for call in calls), sum(call[1] for call in calls)
        assert taken > 10000 and abs(said - taken) <= taken / 10, f"{said} us of {taken}"
        # A call at either end may be only in the profile or only in the trace.
        shown = [call[1] for call in returns(text)]
        apart = abs(counted - sum(shown))
        assert counted > 0 and apart <= sum(shown) / 10 + max(shown), f"profile: {counted} us of {sum(shown)}"
        t.note(f"{len(calls)} calls, {sum(call[0] > 0 for call in calls)} with {said:.0f} us taken by the host; {taken:.0f} us by its events")

        traced.echo("set_event", "")
        traced.echo("tracing_thresh", str(THRESH_US))
        traced.echo("trace", "")
        t.guest.run(COPY, timeout=240)
        long = returns(traced.text("trace", timeout=300))
        wrong = [call for call in long if call[0] - call[1] < THRESH_US - 1]
        assert not wrong, f"below the threshold: {wrong}"

        traced.echo("options/funcgraph-host", "0")
        traced.echo("trace", "")
        t.guest.run(COPY, timeout=240)
        text = traced.text("trace", timeout=300)
        assert "host:" not in text and returns(text), text[-2000:]
        t.note(f"{len(long)} calls of {THRESH_US} us without the host's time, {len(returns(text))} with it")

        traced.echo("current_tracer", "nop")
        traced.echo("tracing_thresh", "0")
        summaries_agree(t, traced)
