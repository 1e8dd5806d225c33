# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of the host among the guest's (docs/host.md): their order, and that nothing records when the session has
ended, however it ended."""

import os
import re
import time

from lib import ftrace
from lib.suite import STANDARD, case

BOTH = (STANDARD[0], STANDARD[2])
INSTANCES = "/sys/kernel/tracing/instances"
LINES = 30  # that the guest writes to its console, on each vCPU

# A line of function_graph: " 1) + 12.3 us    |  }"
GRAPH = re.compile(r"^ *(\d+)\) .*\|(.*)$")


def instances():
    return [name for name in os.listdir(INSTANCES) if name.startswith("hvtrace-")]


def provoke(t):
    """Calls of io_serial_in and io_serial_out, each of which does one port I/O, on both vCPUs at once."""
    write = f"i=0; while [ $i -lt {LINES} ]; do echo 0123456789012345678901234567890123456789 >/dev/ttyS0; i=$((i+1)); done"
    t.guest.run(f"taskset 1 sh -c '{write}' & taskset 2 sh -c '{write}'; wait", timeout=240)


@case(configs=BOTH)
def exits_are_in_their_calls(t):
    """Port I/O in a traced function: its exit is always between the call and the return, on its vCPU."""
    inside, calls, foreign, seen = {}, {}, 0, {}
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "io_serial_in", "io_serial_out")
        traced.echo("set_event", "host:kvm_exit")
        traced.echo("current_tracer", "function_graph")
        provoke(t)
        time.sleep(0.5)  # the newest events of the host wait for the guest's
        traced.echo("tracing_on", "0")
        text = traced.text("trace", timeout=300)
    assert "LOST" not in text, "events were lost"
    for line in text.splitlines():
        match = GRAPH.match(line)
        if not match:
            continue
        cpu, what = match[1], match[2].strip()
        assert not re.match(r"io_serial_\w+\(\);", what), f"a call without its exit: {line}"
        if what.startswith("io_serial_"):
            assert cpu not in inside, f"a call in a call: {line}"
            inside[cpu] = 0
        elif what.startswith("}") and cpu in inside:
            assert inside.pop(cpu) == 1, f"not one exit before {line}"
            calls[cpu] = calls.get(cpu, 0) + 1
        elif "kvm_exit" in what and " reason io " in what:
            rip = re.search(r" rip (0x[0-9a-f]+)", what)[1]
            if cpu in inside:
                inside[cpu] += 1
                seen[rip] = seen.get(rip, 0) + 1
            else:
                foreign += rip in seen
    assert set(calls) == {"0", "1"} and min(calls.values()) > 100, f"calls by vCPU: {calls}"
    assert len(seen) <= 4, f"exits at {seen}"
    assert not foreign, f"{foreign} exits of these functions outside of a call"
    assert not instances(), instances()
    t.note(f"{sum(calls.values())} calls on both vCPUs, each with its exit")


@case(configs=BOTH[:1])
def host_events_in_their_files(t):
    """The files of events/host/: only what is asked for is recorded, by id, filter and instance, and `trace` shows
    who had the CPU."""
    with t.attach() as traced:
        traced.echo("events/enable", "1")
        assert "host:" not in traced.text("set_event"), "enable of all events is the guest's"
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
        assert not re.search(r"<host>.*kvm_entry", text), "an event that is not on"
        traced.echo("set_event", "!host:*", append=True)
        assert not instances() and not traced.text("set_event"), instances()
    t.note(f"{len(exits)} exits, {len(switches)} switches")


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
