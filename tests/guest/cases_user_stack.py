# SPDX-License-Identifier: GPL-2.0-or-later
"""The option userstacktrace: user stacks of events, compared with the guest's own tracefs."""

import re
import tempfile

from lib import tracecmd
from lib.suite import NEWEST, OLDEST, ONE_VCPU, case

EVENTS = ("syscalls/sys_enter_read", "syscalls/sys_enter_write", "syscalls/sys_exit_clock_nanosleep", "sched/sched_switch", "own/reads", "own/did")
PROBES = ("p:own/reads ksys_read", "r:own/did ksys_read")
LINE = re.compile(r"^\s*(?P<comm>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+\S+\s+\d+\.\d+: (?P<body>.*)$")
COMMS = ("frames", "giver", "dd", "<idle>")
FILE = "/bin/frames[+0x"
SECONDS = 3


def events(text):
    """Returns [(comm, event with its arguments, the lines of each stack after it, with its title)]. Lines of several
    vCPUs are in the order of their times, so a stack belongs to the last event of its vCPU."""
    found, last, stack = [], {}, None
    for line in text.splitlines():
        match = LINE.match(line)
        if match and match["body"].endswith("stack trace>"):
            event = last.get(match["cpu"])
            assert event and event[0] == match["comm"], f"a stack without an event: {line}"
            stack = [match["body"]]
            event[2].append(stack)
        elif match:
            last[match["cpu"]] = (match["comm"], match["body"], [])
            found.append(last[match["cpu"]])
        elif line.startswith(" => "):
            stack.append(line)
    return found


def kinds(text):
    """Returns the stacks of each event of the programs, and of the switches of idle tasks. Stacks in the kernel are
    shown by their titles only."""
    by_event = {}
    for comm, event, stacks in events(text):
        name = re.sub(r"\(.*|:.*|->.*| .*", "", event)
        if comm not in COMMS or (name == "sched_switch" and comm != "<idle>" and "prev_state=S" not in event):
            continue
        shown = tuple(tuple(lines) if lines[0] == "<user stack trace>" else lines[0] for lines in stacks)
        by_event.setdefault((comm, name), set()).add(shown)
    return by_event


def in_pages(traced, pid, cpus):
    """Returns the number of user stacks of a process that `trace-cmd report` prints from the pages of trace_pipe_raw."""
    with tempfile.TemporaryDirectory(prefix="hvtrace-test-") as directory:
        tracecmd.save(traced, directory)
        for cpu in range(cpus):
            tracecmd.take_pages(traced, f"{directory}/cpu{cpu}", cpu)
        matches, _ = tracecmd.report(directory, cpus)
    return sum(match["event"] == "user_stack" and int(match["pid"]) == pid for match in matches)


def in_histogram(text):
    """Returns the stacks in a histogram, in the form of kinds()."""
    found = re.findall(r"^\{ common_userstacktrace:\n((?: {9}<\w{16}>\n)*)", text, re.M)
    return {tuple(" => " + line[8:] for line in lines.splitlines()) for lines in found}


def own_stacks(guest):
    """Returns the guest's own trace: user stacks, with files, and after stacks in the kernel, which hvtrace does not
    record for probes."""
    on = "".join(f"echo 1 >events/{event}/enable; " for event in EVENTS)
    return guest.run_own(
        "cd /sys/kernel/tracing; echo nop >current_tracer; echo 8192 >buffer_size_kb; echo userstacktrace >trace_options; "
        + "".join(f"echo '{probe}' >>kprobe_events; " for probe in PROBES)
        + f"{on} echo >trace; sleep {SECONDS}; echo 0 >tracing_on; cat trace; echo sym-userobj >trace_options; cat trace; "
        f"echo 0 >events/own/enable; echo stacktrace >trace_options; echo >trace; echo 1 >tracing_on; sleep {SECONDS}; echo 0 >tracing_on; cat trace; "
        "echo nostacktrace >trace_options; echo nouserstacktrace >trace_options; echo nosym-userobj >trace_options; "
        "echo 0 >events/enable; echo >kprobe_events; echo >trace; echo 1 >tracing_on",
        timeout=300,
    )


def our_stacks(t, traced, pid):
    """Returns the same from hvtrace, and the number of user stacks of process PID in text and in pages."""
    traced.echo("trace_options", "userstacktrace")
    traced.echo("events/syscalls/sys_enter_write/trigger", "hist:keys=common_userstacktrace")
    for probe in PROBES:
        traced.echo("kprobe_events", probe, append=True)
    for event in EVENTS:
        traced.echo(f"events/{event}/enable", "1")
    t.guest.run(f"sleep {SECONDS}")
    traced.echo("tracing_on", "0")
    ours = traced.text("trace", timeout=300)
    counted = in_histogram(traced.text("events/syscalls/sys_enter_write/hist"))
    writes = {stacks[0][1:] for (_, name), all_stacks in kinds(ours).items() if name == "sys_write" for stacks in all_stacks}
    assert writes and writes <= counted, f"{writes - counted} are not in the histogram: {counted}"
    traced.echo("trace_options", "sym-userobj")
    ours += traced.text("trace", timeout=300)
    in_text = len(re.findall(rf"-{pid} .*<user stack trace>", ours)) // 2
    in_raw = in_pages(traced, pid, t.guest.config.vcpus)
    traced.echo("events/own/enable", "0")
    traced.echo("trace_options", "stacktrace")
    traced.echo("trace", "")
    traced.echo("tracing_on", "1")
    t.guest.run(f"sleep {SECONDS}")
    traced.echo("tracing_on", "0")
    ours += traced.text("trace", timeout=300)
    traced.echo("events/enable", "0")
    traced.echo("kprobe_events", "")
    traced.echo("events/syscalls/sys_enter_write/trigger", "!hist:keys=common_userstacktrace")
    return ours, in_text, in_raw


@case(configs=(ONE_VCPU[0],), further=(OLDEST, *ONE_VCPU[1:], NEWEST), sanitized=True)
def user_stacks_agree_with_own_ftrace(t):
    """The user stacks after system calls, switches and probes of a program with frame pointers and one without equal the
    guest's own, with addresses and with files, and follow stacks in the kernel. Those of the idle task are empty. The
    pages of trace_pipe_raw and histograms contain them, too."""
    t.guest.run("(while sleep 0.1 && head -c 99999 /dev/urandom; do :; done | dd of=/dev/null bs=64k) >/dev/null 2>&1 & echo")
    pid = int(t.guest.run("frames block >/dev/null 2>&1 & echo $!").split()[-1])
    try:
        own = own_stacks(t.guest)
        with t.attach() as traced:
            ours, in_text, in_raw = our_stacks(t, traced, pid)
    finally:
        t.guest.run("kill $(pidof frames dd)")
    own, ours = kinds(own), kinds(ours)
    for kind, stacks in own.items():
        assert ours.get(kind) == stacks, f"{kind}: only by the guest {stacks - ours.get(kind, set())}, only by hvtrace {ours.get(kind, set()) - stacks}"
    naps = own["frames", "sys_clock_nanosleep"]
    assert any(FILE in stacks[-1][1] for stacks in naps) and all(len(stacks[-1]) >= 5 for stacks in naps), naps
    assert (("<user stack trace>",),) in own["<idle>", "sched_switch"], own
    assert any(stacks[0] == "<stack trace>" for stacks in naps), naps
    # The guest's own return probe misses calls while as many as it has vCPUs wait in the function.
    assert {("frames", "reads"), ("dd", "sys_read")} <= own.keys() and "did" in {name for _, name in own}, own.keys()
    assert in_raw == in_text > 10, f"{in_raw} user stacks in pages, {in_text} in text"
    t.note(f"{sum(map(len, own.values()))} different stacks of {len(own)} kinds of events")
