# SPDX-License-Identifier: GPL-2.0-or-later
"""The option userstacktrace: user stacks of events, compared with the guest's own tracefs."""

import re

from lib.suite import NEWEST, OLDEST, ONE_VCPU, case

EVENTS = ("syscalls/sys_enter_read", "syscalls/sys_enter_write", "syscalls/sys_exit_clock_nanosleep", "sched/sched_switch")
LINE = re.compile(r"^\s*(.+)-(\d+)\s+\[\d+\]\s+\S+\s+\d+\.\d+: (.*)$")
NAPS = "/bin/frames[+0x"


def events(text):
    """Returns [(comm, event with its arguments, (address, ...) or None without a user stack)]."""
    found, stack = [], None
    for line in text.splitlines():
        match = LINE.match(line)
        if match and match[3] == "<user stack trace>":
            assert found and found[-1][0] == match[1], f"a user stack without an event: {line}"
            assert found[-1][2] is None, f"a second user stack: {line}"
            stack = found[-1][2] = []
        elif match:
            stack = None
            found.append([match[1], match[3], None])
        elif line.startswith(" => "):
            assert stack is not None, line
            stack.append(line)
    return [(comm, text, None if lines is None else tuple(lines)) for comm, text, lines in found]


def kinds(text):
    """Returns the stacks of each event of the program, and of the switches of idle tasks."""
    by_event = {}
    for comm, event, stack in events(text):
        name = re.sub(r"\(.*|:.*|->.*| .*", "", event)
        if name == "sched_switch" and comm != "<idle>" and "prev_state=S" not in event:
            continue
        if comm in ("frames", "giver", "<idle>"):
            by_event.setdefault((comm, name), set()).add(stack)
    return by_event


@case(configs=(ONE_VCPU[0],), further=(OLDEST, *ONE_VCPU[1:], NEWEST))
def user_stacks_agree_with_own_ftrace(t):
    """The user stacks after system calls and switches of a program with frame pointers equal the guest's own, with
    addresses and with files; those of the idle task are empty. They are in the pages of trace_pipe_raw, too."""
    pid = int(t.guest.run("frames block >/dev/null 2>&1 & echo $!").split()[-1])
    try:
        on = "".join(f"echo 1 >events/{event}/enable; " for event in EVENTS)
        own = t.guest.run_own(
            f"cd /sys/kernel/tracing; echo nop >current_tracer; echo 4096 >buffer_size_kb; echo userstacktrace >trace_options; {on}"
            "echo >trace; sleep 3; echo 0 >tracing_on; cat trace; echo sym-userobj >trace_options; cat trace; "
            "echo nouserstacktrace >trace_options; echo nosym-userobj >trace_options; echo 0 >events/enable; echo >trace; echo 1 >tracing_on",
            timeout=300,
        )
        with t.attach() as traced:
            traced.echo("trace_options", "userstacktrace")
            for event in EVENTS:
                traced.echo(f"events/{event}/enable", "1")
            t.guest.run("sleep 3")
            traced.echo("tracing_on", "0")
            ours = traced.text("trace", timeout=300)
            traced.echo("trace_options", "sym-userobj")
            ours += traced.text("trace", timeout=300)
            traced.echo("events/enable", "0")
    finally:
        t.guest.run(f"kill {pid}")
    own, ours = kinds(own), kinds(ours)
    assert len(own) >= 6, own
    for kind, stacks in own.items():
        assert ours.get(kind) == stacks, f"{kind}: {stacks} by the guest, {ours.get(kind)} by hvtrace"
    naps = own["frames", "sys_clock_nanosleep"]
    assert any(NAPS in stack[0] for stack in naps) and all(len(stack) >= 4 for stack in naps), naps
    assert own["<idle>", "sched_switch"] == {()}, own
    t.note(f"{sum(map(len, own.values()))} different stacks of {len(own)} kinds of events")
