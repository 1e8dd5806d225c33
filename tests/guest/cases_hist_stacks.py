# SPDX-License-Identifier: GPL-2.0-or-later
"""Stacks in histograms and synthetic events, compared with the guest's own tracefs."""

import re

from cases_hist import OWN, TRY, difference
from lib.suite import ONE_VCPU, case

TRIGGERS = r"""
hist:keys=stacktrace
hist:keys=common_stacktrace
hist:keys=common_pid,stacktrace:vals=bytes_req:sort=bytes_req
hist:keys=stacktrace:sort=stacktrace
hist:keys=stacktrace,bytes_req:sort=common_stacktrace
hist:keys=STACKTRACE,bytes_alloc
hist:keys=bytes_req.stacktrace
hist:keys=common_stacktrace.stacktrace
hist:keys=common_pid:vals=stacktrace
hist:keys=common_pid:vals=common_stacktrace
hist:keys=common_pid:s=common_stacktrace
hist:keys=common_pid:t=stacktrace,u=bytes_req
hist:keys=stacktrace,bytes_req if bytes_req > 8
"""
KEYS = (
    ("sched/sched_process_fork", "hist:keys=stacktrace"),
    ("kmem/kmalloc", "hist:keys=stacktrace,bytes_req:vals=bytes_alloc if bytes_req > 2000"),
    ("syscalls/sys_enter_execve", "hist:keys=stacktrace"),
)
WORK = "for n in 1 2 3 4 5 6 7 8; do cat /absent 2>/dev/null; done; cat /proc/version /proc/uptime >/dev/null"
ENTRY = re.compile(r"^\{ (?:common_)?stacktrace:\n((?: {9}.*\n)+)(.*?)\} hitcount: +(\d+)", re.MULTILINE)


def stacks_of(hist):
    """Returns the hit count by stack and other keys."""
    return {(tuple(line.strip() for line in stack.splitlines()), rest): int(hits) for stack, rest, hits in ENTRY.findall(hist)}


@case(configs=ONE_VCPU, sanitized=True)
def stacks_in_histograms(t):
    """Stacks as keys: valid and invalid triggers parse like the guest's own, and both count the same stacks
    together."""
    with t.attach() as traced:
        command = TRY.format(own=OWN, dir="events/kmem/kmalloc", triggers=TRIGGERS.strip("\n"))
        ours = t.hv("exec", t.name, "busybox", "sh", "-c", command, timeout=600)
        own = t.guest.run(command, timeout=300)
        parts = [text.split("\n== ") for text in (own, ours)]
        differences = [difference(a, b) for a, b in zip(*parts, strict=True) if a != b]
        assert not differences, f"{len(differences)} of {len(parts[0])} triggers differ:\n" + "\n".join(differences)
        for event, text in KEYS:
            traced.echo(f"events/{event}/trigger", text)
        on = "; ".join(f"echo '{text}' >events/{event}/trigger" for event, text in KEYS)
        off = "; ".join(f"echo '!{text}' >events/{event}/trigger" for event, text in KEYS)
        show = "; ".join(f"cat events/{event}/hist" for event, _ in KEYS)
        own = t.guest.run(f"cd {OWN}; {on}; {WORK}; {show}; {off}", timeout=300)
        ours = "".join(traced.text(f"events/{event}/hist", timeout=300) for event, _ in KEYS)
        own, ours = stacks_of(own), stacks_of(ours)
        lost = {key: (nr, ours.get(key)) for key, nr in own.items() if ours.get(key, 0) < nr}
        assert own and not lost, f"{len(lost)} of {len(own)} differ, ours {len(ours)}: {list(lost.items())[:4]}\n{list(ours)[:6]}"
        for event, text in KEYS:
            traced.echo(f"events/{event}/trigger", f"!{text}")
        t.note(f"{len(parts[0])} triggers; {len(own)} entries of the guest's own")


SWITCH = "events/sched/sched_switch/trigger"
BLOCKED = (
    ("synthetic_events", "blocked pid_t pid; u64 delta; unsigned long[] stack; int prio"),
    (SWITCH, "hist:keys=prev_pid:ts=common_timestamp.usecs,st=common_stacktrace if prev_state == 1"),
    (SWITCH, "hist:keys=next_pid:delta=common_timestamp.usecs-$ts,s=$st:onmatch(sched.sched_switch).trace(blocked,next_pid,$delta,$s,next_prio)"),
    ("events/synthetic/blocked/trigger", "hist:keys=stack.stacktrace:vals=delta"),
    ("events/synthetic/blocked/enable", "1"),
)
# Excludes the idle task, because its stack ends in code that the guest has freed.
SWITCHED = (
    ("synthetic_events", "switched pid_t pid; u64 delta; unsigned long[] stack; int prio"),
    ("events/sched/sched_waking/trigger", "hist:keys=pid:ts=common_timestamp.usecs"),
    (
        SWITCH,
        "hist:keys=next_pid:delta=common_timestamp.usecs-$ts,st=common_stacktrace"
        ":onmatch(sched.sched_waking).trace(switched,next_pid,$delta,$st,next_prio) if prev_pid != 0",
    ),
    ("events/synthetic/switched/trigger", "hist:keys=stack.stacktrace:vals=delta"),
    ("events/synthetic/switched/enable", "1"),
)
MADE = re.compile(r"-(\d+) .*(?:blocked|switched): (pid=\d+) delta=\d+ stack=STACK:\n((?:=> .*\n)+)( ?prio=\d+)", re.MULTILINE)


def compare_made(t, recipe):
    """The guest and hvtrace make synthetic events by RECIPE together. hvtrace must make all events of the guest."""
    event = f"events/synthetic/{recipe[0][1].split()[0]}"
    with t.attach() as traced:
        for file, text in recipe:
            t.hv("echo", "-a", t.name, file, text)
        t.guest.run(f"cd {OWN}; echo 2000 >buffer_size_kb; echo >trace; " + "".join(f"echo '{text}' >>{file}; " for file, text in recipe))
        clean = f"cd {OWN}; echo 0 >{event}/enable; " + "".join(f"echo '!{text}' >>{file}; " for file, text in reversed(recipe[:4]))
        try:
            t.guest.run(f"{WORK}; sleep 1; echo 0 >{OWN}/tracing_on")
            own, ours = t.guest.run(f"cat {OWN}/trace", timeout=300), traced.text("trace", timeout=300)
            texts = t.guest.run(f"cat {OWN}/{event}/format"), traced.text(f"{event}/format")
            formats = [text.split("format:")[1] for text in texts]
            assert formats[0] == formats[1], difference(*formats)
            triggers = t.guest.run(f"cat {OWN}/{SWITCH}"), traced.text(SWITCH)
            assert triggers[0] == triggers[1], difference(*triggers)
            own, ours = MADE.findall(own), MADE.findall(ours)
            lost = [made for made in own if made not in ours]
            assert len(own) > 5 and not lost, f"{len(lost)} of {len(own)}, ours {len(ours)}:\n{lost[:2]}\n{ours[:4]}"
            hist = traced.text(f"{event}/hist", timeout=300)
            assert "{ stack.stacktrace" in hist and "schedule+0x" in hist, hist
            t.note(f"{len(own)} events of the guest's own, {len({made[2] for made in own})} stacks")
        finally:
            t.guest.run(clean + "echo 1 >tracing_on; echo >trace; echo 1 >buffer_size_kb")
            t.hv("exec", t.name, "sh", "-c", clean)


@case(configs=ONE_VCPU[1:])
def stacks_in_synthetic_events(t):
    """The recipe of the kernel's documentation for where tasks block: a variable keeps the stack of the sleeping task,
    and a synthetic event records it when the task continues. Stacks of the guest and of hvtrace are equal."""
    compare_made(t, BLOCKED)


@case(configs=ONE_VCPU[1:])
def synthetic_events_with_their_own_stack(t):
    """A trigger keeps the stack of its own event and immediately makes a synthetic event with it: the task that was
    switched out for a woken task, and its stack. The guest's events and hvtrace's have equal tasks and stacks."""
    compare_made(t, SWITCHED)
