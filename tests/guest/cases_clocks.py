# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's clocks as trace clocks: events have times between the guest's own readings before and after them."""

import dataclasses
import re

from lib import ftrace
from lib.suite import IN_TURN, OLDEST, ONE_VCPU, case

OWN = "/sys/kernel/tracing"
N = 100
READ = ("mono", "boot", "tai")  # the order in which `workload clocks` reads them
KERNELS = (*IN_TURN, OLDEST)
UNSTABLE = tuple(
    dataclasses.replace(config, cmdline=f"{config.cmdline} {word}".strip())
    for config in (KERNELS[0], OLDEST)
    for word in ("tsc=unstable", "notsc")
)
EVENT = re.compile(r"^\s*\S+-(\d+) .*? (\d+)\.(\d{6}): sys_unshare\(", re.M)


def times_of(text, pid):
    """Returns the times of the events in ns, rounded to us."""
    return [(int(s) * 10**6 + int(us)) * 1000 for found, s, us in EVENT.findall(text) if int(found) == pid]


def readings(text):
    """Returns [the clocks' readings before and after each event]."""
    lines = re.findall(r"^((?:\d+ ){5}\d+)$", text, re.M)
    return [([int(n) for n in line.split()[:3]], [int(n) for n in line.split()[3:]]) for line in lines]


def run(t):
    pid = ftrace.start_workload(t.guest, "clocks", N)
    ftrace.go(t.guest, pid)
    return readings(t.guest.run("cat /tmp/w.out")), pid


# With one vCPU, the guest's timekeeper uses its TSC also under TCG.
@case(configs=(*ONE_VCPU, OLDEST), further=KERNELS[:-1])
def clocks_are_the_guests_own(t):
    """mono, boot and tai: each event is between two readings of that clock by the program that causes it."""
    source = t.guest.run("cat /sys/devices/system/clocksource/clocksource0/current_clocksource").strip()
    with t.attach() as traced:
        traced.echo("events/syscalls/sys_enter_unshare/enable", "1")
        for i, clock in enumerate(READ):
            if source not in ("tsc", "kvm-clock"):
                t.hv.fails("echo", t.name, "trace_clock", clock, says=(clock, "another counter"))
                continue
            traced.echo("trace_clock", clock)
            assert f"[{clock}]" in traced.text("trace_clock"), traced.text("trace_clock")
            read, pid = run(t)
            times = times_of(traced.text("trace"), pid)
            assert len(read) == len(times) == N, (len(read), len(times))
            wrong = [(b[i], at, a[i]) for (b, a), at in zip(read, times) if not b[i] - 500 <= at <= a[i] + 500]
            width = sorted(a[i] - b[i] for b, a in read)[N // 2]
            assert not wrong, f"{clock}: {len(wrong)} of {N} are not between: {wrong[:5]}"
            t.note(f"{clock}: {N} events within {width / 1000:.1f} us")


def own_events(t):
    return t.guest.run(f"cat {OWN}/trace")


@case(configs=(*KERNELS, UNSTABLE[-1]), further=UNSTABLE[:-1])
def the_clock_equals_the_guests_own_trace(t):
    """With the initial clock and with global, an event has the time that the guest's own trace shows."""
    own = t.guest.run(f"cat {OWN}/trace_clock")
    with t.attach() as traced:
        ours = traced.text("trace_clock")
        default = re.search(r"\[(\w+)\]", own)[1]
        assert f"[{default}]" in ours, (own, ours)
        traced.echo("events/syscalls/sys_enter_unshare/enable", "1")
        t.guest.run(f"echo >{OWN}/trace; echo 1 >{OWN}/events/syscalls/sys_enter_unshare/enable")
        try:
            for clock in dict.fromkeys((default, "global")):
                t.guest.run(f"echo {clock} >{OWN}/trace_clock")
                traced.echo("trace_clock", clock)
                _, pid = run(t)
                theirs, mine = times_of(own_events(t), pid), times_of(traced.text("trace"), pid)
                assert len(theirs) == len(mine) == N, (len(theirs), len(mine))
                off = sorted(m - o for m, o in zip(mine, theirs))
                t.note(f"{clock}: {off[0] / 1000:.0f} .. {off[N // 2] / 1000:.0f} .. {off[-1] / 1000:.0f} us")
                assert abs(off[N // 2]) <= 100_000, f"{clock}: {off[:3]} .. {off[-3:]}"
        finally:
            t.guest.run(
                f"echo 0 >{OWN}/events/syscalls/sys_enter_unshare/enable; echo {default} >{OWN}/trace_clock; echo >{OWN}/trace"
            )
