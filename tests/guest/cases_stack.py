# SPDX-License-Identifier: GPL-2.0-or-later
"""Stack traces: func_stack_trace compared with the guest's own ftrace, and the commands stacktrace and snapshot."""

import re

from lib import ftrace
from lib.names import OWN
from lib.suite import IN_TURN, NEWEST, OLDEST, STANDARD, case
from lib.wait import until

FILTERS = ("vfs_*", "ksys_*", "*pipe*", ftrace.ROUND)
ROUNDS = 20
BEGIN = re.compile(r"^\s*.+-(\d+)\s+\[\d+\]\s+(\S{4,8})\s+\d+\.\d+: <stack trace>$")
TRAMPOLINE = re.compile(r"\[FTRACE TRAMPOLINE\]|ftrace_call(er)?|0xf\w+")  # the guest's own
# The last functions of complete stacks, called by user code or without a caller: an interrupt of user code, a system
# call, the start of a thread or CPU.
ROOTS = re.compile(
    r"asm_\w+|entry_SYSCALL_64_after_hwframe|ret_from_fork\w*|(common|secondary)_startup_64\w*"
    r"|apic_timer_interrupt|(async_)?page_fault|swapgs_restore_regs_and_return_to_usermode"  # in older kernels, such as 4.19
)
UNKNOWN = "[callers beyond are unknown]"


def stacks(text):
    """Returns [(pid, flags, (function, its caller, ...))]."""
    found, lines = [], None
    for line in text.splitlines():
        match = BEGIN.match(line)
        if match:
            lines = []
            found.append((int(match[1]), match[2], lines))
        elif line.startswith(" => "):
            lines.append(line[4:])
    return [(pid, flags, tuple(l for l in lines if not TRAMPOLINE.fullmatch(l))) for pid, flags, lines in found]


def of_rounds(text, pid, first):
    """Returns the stacks of a task's own calls, without interrupts, in whole rounds of `workload syscalls`."""
    mine = [lines for whose, flags, lines in stacks(text) if whose == pid and ftrace.are_of_task(flags)]
    at = [i for i, lines in enumerate(mine) if lines[0] == first]
    assert len(at) > ROUNDS / 2, f"{len(at)} {first} among {len(mine)} stacks"
    return mine[at[0] : at[-1]]


def agree(own, own_pid, ours, our_pid, first=ftrace.ROUND):
    """Checks that whole rounds, which begin with FIRST, have equal stacks in the same order. Returns their number."""
    one, other = of_rounds(own, own_pid, first), of_rounds(ours, our_pid, first)
    assert len(one) > 3 * ROUNDS, f"only {len(one)} stacks by the guest itself"
    if one != other:
        differ = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
        raise AssertionError(
            f"{len(one)} stacks by the guest, {len(other)} by hvtrace; from {differ + 1}: "
            f"{one[differ:differ + 2]} and {other[differ:differ + 2]}"
        )
    return len(one)


@case(configs=(*IN_TURN, NEWEST), sanitized=True)
def stacks_agree_with_own_ftrace(t):
    """One workload with func_stack_trace: stacks and their order equal the guest's own. Callers in a timer interrupt,
    which are on two stacks, are complete up to the kernel's entry."""
    options = ("func_stack_trace",)
    own, own_pid = ftrace.own_trace(t.guest, ("syscalls", ROUNDS), FILTERS, options=options)
    with t.attach() as traced:
        ours, our_pid = ftrace.hvtrace_trace(traced, t.guest, ("syscalls", ROUNDS), FILTERS, options=options)
        traced.echo("set_ftrace_filter", "hrtimer_interrupt")
        traced.echo("current_tracer", "function")
        traced.echo("trace_options", "func_stack_trace")

        def ticks_so_far():
            t.guest.run("sleep 1")
            return [lines for _, _, lines in stacks(traced.text("trace"))]

        ticks = until(lambda: len(found := ticks_so_far()) > 100 and found)
    nr = agree(own, own_pid, ours, our_pid)
    assert ticks, "too few timer interrupts"
    cut = [lines for lines in ticks if not ROOTS.fullmatch(lines[-1])]
    silent = [lines for lines in cut if lines[-1] != UNKNOWN]
    assert not silent, f"{len(silent)} of {len(ticks)} end early without a mark: {silent[0]}"
    # The kernel's own unwinder also stops in a retpoline thunk, which has no unwind rule.
    assert len(cut) < len(ticks) / 10, f"{len(cut)} of {len(ticks)} do not end where the kernel is entered: {cut[0]}"
    t.note(f"{nr} stacks agree, in order; {len(ticks)} stacks of interrupts, {len(cut)} incomplete")


@case(configs=(STANDARD[1],))
def stacks_show_callers_hidden_by_a_graph(t):
    """The command stacktrace, with function_graph as the tracer: stacks and their order equal the guest's."""
    commands = tuple(f"{glob}:stacktrace" for glob in (ftrace.ROUND, "vfs_*", "rw_verify_area"))
    filters = (*FILTERS, "__x64_sys_*", *commands)
    own, own_pid = ftrace.own_trace(t.guest, ("syscalls", ROUNDS), filters, tracer="function_graph")
    with t.attach() as traced:
        ours, our_pid = ftrace.hvtrace_trace(traced, t.guest, ("syscalls", ROUNDS), filters, tracer="function_graph")
    t.note(f"{agree(own, own_pid, ours, our_pid)} stacks agree, in order")


DEEPEST = re.compile(r"^ *(\d+)\) +(\d+) +(\d+)   (.+)$", re.M)
SYSCTL = "/proc/sys/kernel/stack_tracer_enabled"


def deepest(text):
    """Returns [(depth, size, place)] of a stack_trace, whose numbers must be consistent."""
    found = [(int(depth), int(size), place) for _, depth, size, place in DEEPEST.findall(text)]
    assert text.splitlines()[0] == f"        Depth    Size   Location    ({len(found)} entries)", text
    assert [int(number) for number, _, _, _ in DEEPEST.findall(text)] == list(range(len(found))), text
    for (depth, size, _), (below, _, _) in zip(found, [*found[1:], (0, 0, "")]):
        assert depth - size == below, text
    return found


@case(configs=(NEWEST,), further=IN_TURN)
def deepest_stack_agrees_with_own_stack_tracer(t):
    """stack_trace of one workload: calls and depths equal the results of the guest's own stack tracer, except the part
    of the stack that the kernel adds at random in each system call. Then the deepest stack of all functions, which
    is complete, also with return addresses replaced by function_graph. No byte stays changed."""
    guest = t.guest
    own = f"{OWN}/stack_trace"
    guest.run(f"echo {ftrace.ROUND} >{own}_filter && echo 0 >{OWN}/stack_max_size")
    guest.run_own(f"echo 1 >{SYSCTL}")
    guest.run("workload syscalls 20 & sleep 1; kill -USR1 $!; wait", timeout=ftrace.LONG_SECONDS)
    guest.run_own(f"echo 0 >{SYSCTL}")
    theirs = deepest(guest.run(f"cat {own}; echo >{own}_filter"))
    with t.attach() as traced:
        assert "Stack tracer disabled" in traced.text("stack_trace")
        traced.echo("stack_trace_filter", ftrace.ROUND)
        traced.echo("stack_tracer_enabled", "1")
        guest.run("workload syscalls 20 & sleep 1; kill -USR1 $!; wait", timeout=ftrace.LONG_SECONDS)
        ours = until(lambda: deepest(traced.text("stack_trace")))
        assert int(traced.text("stack_max_size")) == ours[0][0]
        assert [place for _, _, place in ours] == [place for _, _, place in theirs], (ours, theirs)
        # The guest's first entry includes a part of its trampoline.
        sizes = [(a, b) for a, b in zip(ours[1:], theirs[1:]) if a[1] != b[1]]
        assert all(a[2].startswith("do_syscall_64") for a, _ in sizes), sizes
        traced.echo("stack_trace_filter", "")
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function_graph")
        guest.run("workload syscalls 20 & sleep 1; kill -USR1 $!; wait", timeout=ftrace.LONG_SECONDS)
        traced.echo("stack_tracer_enabled", "0")
        of_all = deepest(traced.text("stack_trace"))
        assert ROOTS.fullmatch(of_all[-1][2].split("+")[0]), of_all
        assert ours[0][0] < of_all[0][0] < 0x4000, of_all
        traced.echo("stack_max_size", "0")
        traced.echo("current_tracer", "nop")
        guest.run("workload syscalls 1 & sleep 1; kill -USR1 $!; wait", timeout=ftrace.LONG_SECONDS)
        assert traced.text("stack_max_size") == "0\n"
        traced.echo("stack_tracer_enabled", "1")  # detach must work while it is on
    t.note(f"{len(ours)} functions agree, {len(sizes)} with another size; the deepest stack of all has {of_all[0][0]} bytes")


@case(configs=(STANDARD[0],))
def commands_record_stacks_and_snapshots(t):
    """FUNC:stacktrace:N makes N stack traces, and FUNC:snapshot:1 has only the events before the call."""
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_open:stacktrace:3")
        t.guest.run("for i in 1 2 3 4 5; do cat /proc/uptime; done")
        found = stacks(traced.text("trace"))
        assert [lines[0] for _, _, lines in found] == 3 * ["vfs_open"], f"stacks: {found}"
        assert all(lines[-1] == "entry_SYSCALL_64_after_hwframe" for _, _, lines in found), f"stacks: {found}"
        assert "vfs_open:stacktrace:count=0\n" in traced.text("set_ftrace_filter")
        traced.echo("set_ftrace_filter", "!vfs_open:stacktrace:0", append=True)
        traced.echo("set_ftrace_filter", "vfs_rmdir:snapshot:1", append=True)
        traced.echo("set_ftrace_filter", "vfs_mkdir", "vfs_rmdir")
        traced.echo("current_tracer", "function")
        t.guest.run("for i in 1 2; do mkdir /tmp/a /tmp/b; rmdir /tmp/a /tmp/b; done")
        of = [[e.function for e in ftrace.parse(traced.text(file))[0]] for file in ("snapshot", "trace")]
        want = [2 * ["vfs_mkdir"], 2 * ["vfs_rmdir"] + 2 * ["vfs_mkdir"] + 2 * ["vfs_rmdir"]]
        assert of == want, f"snapshot and trace: {of}"


OWN = "/sys/kernel/tracing"
PROGRAMS = 60  # the shell waits for each, so each costs at least two switches, however idle the guest is
EVENTS = ("sched/sched_switch", "sched/sched_wakeup", "irq/irq_handler_entry", "timer/hrtimer_start")
EVENT_LINE = re.compile(r"^\s*.+-(\d+)\s+\[(\d+)\] \S+\s+\d+\.\d+: (.*)$")
OF_PROBE = re.compile(r"(do_)?trace_event_raw_event_\w+(\.\w+)*|__traceiter_\w+|trace_buffer_unlock_commit_regs|trace_event_buffer_commit|event_triggers_post_call|stacktrace_trigger")


def events_with_stacks(text):
    """Returns [(pid, text of the event, its stack or None)], without the frames of tracing itself and of code that was
    freed after boot."""
    found, last, lines = [], {}, []
    for line in text.splitlines():
        match = EVENT_LINE.match(line)
        if match and match[3] == "<stack trace>":
            whose = last[match[2]].pop() if last.get(match[2]) else None
            lines = []
            if whose is not None:
                found[whose][2] = lines
        elif match:
            found.append([match[1], match[3], None])
            last.setdefault(match[2], []).append(len(found) - 1)
        elif line.startswith(" => ") and not OF_PROBE.fullmatch(line[4:]):
            lines.append(line[4:])
    return found


@case(configs=(*IN_TURN, OLDEST))
def stacks_of_events_agree(t):
    """The option stacktrace: each event is followed by its stack, which equals the stack in the guest's own trace of
    the event. The trigger stacktrace records only some stacks, and no stack after its removal."""
    with t.attach() as traced:
        traced.echo("tracing_on", "0")
        traced.echo("options/stacktrace", "1")
        for event in EVENTS:
            traced.echo(f"events/{event}/enable", "1")
        traced.echo("tracing_on", "1")
        own = t.guest.run(
            f"cd {OWN}; echo 0 >tracing_on; echo 20000 >buffer_size_kb; echo 1 >options/stacktrace; "
            + "".join(f"echo 1 >events/{event}/enable; " for event in EVENTS)
            + f"echo >trace; echo 1 >tracing_on; for i in $(seq {PROGRAMS}); do cat /proc/stat >/dev/null; done; sleep 0.2;"
            " echo 0 >tracing_on; echo 0 >events/enable; echo 0 >options/stacktrace; cat trace; echo >trace; echo 1 >tracing_on; echo 1 >buffer_size_kb",
            timeout=300,
        )
        traced.echo("tracing_on", "0")
        ours = events_with_stacks(traced.text("trace", timeout=300))
        without = [event for event in ours if event[2] is None]
        assert len(ours) >= 2 * PROGRAMS and len(without) <= 2, f"{len(without)} of {len(ours)} have no stack: {without[:3]}"
        by_text = {}
        for pid, text, lines in ours:
            by_text.setdefault((pid, text), []).append(lines)
        same, differ = 0, []
        for pid, text, lines in events_with_stacks(own):
            if lines in by_text.get((pid, text), []):
                same += 1
            else:
                differ.append((pid, text, lines, by_text.get((pid, text), [])[:1]))
        t.note(f"{same} stacks of {same + len(differ)} agree")
        assert same + len(differ) >= 2 * PROGRAMS, f"the guest itself recorded {same + len(differ)} stacks, for {PROGRAMS} programs"
        assert len(differ) <= same / 50, f"{len(differ)} differ: {differ[:2]}"
        traced.echo("events/enable", "0")
        traced.echo("options/stacktrace", "0")
        traced.echo("trace", "")
        traced.echo("tracing_on", "1")
        trigger = "events/sched/sched_process_fork/trigger"
        traced.echo(trigger, "stacktrace:3")
        traced.echo("events/sched/sched_process_exit/enable", "1")
        t.guest.run("for i in 1 2 3 4 5; do cat /proc/uptime; done")
        text = traced.text("trace")
        assert text.count("<stack trace>") == 3 and text.count("kernel_clone") == 3, text[:3000]
        assert "stacktrace:count=0" in traced.text(trigger)
        traced.echo(trigger, "!stacktrace")
        assert "# traceon" in traced.text(trigger)
