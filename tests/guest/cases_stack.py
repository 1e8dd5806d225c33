# SPDX-License-Identifier: GPL-2.0-or-later
"""Stack traces: func_stack_trace compared with the guest's own ftrace, and the commands stacktrace and snapshot."""

import re

from lib import ftrace
from lib.suite import IN_TURN, NEWEST, STANDARD, case
from lib.wait import until

FILTERS = ("vfs_*", "ksys_*", "*pipe*", ftrace.ROUND)
ROUNDS = 20
BEGIN = re.compile(r"^\s*.+-(\d+)\s+\[\d+\]\s+(\S{4,8})\s+\d+\.\d+: <stack trace>$")
TRAMPOLINE = re.compile(r"\[FTRACE TRAMPOLINE\]|ftrace_call|0xf\w+")  # the guest's own
# The last functions of complete stacks, called by user code or by nothing: an interrupt of user code, a system call,
# the start of a thread or CPU (for the first CPU from rest_init on, since code before it was freed after boot).
ROOTS = re.compile(
    r"asm_\w+|entry_SYSCALL_64_after_hwframe|ret_from_fork\w*|(common|secondary)_startup_64\w*|"
    r"(arch_call_)?rest_init|cpu_startup_entry|x86_64_start_\w+"
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


def of_rounds(text, pid):
    """Returns the stacks of a task's own calls, without interrupts, in whole rounds of `workload syscalls`."""
    mine = [lines for whose, flags, lines in stacks(text) if whose == pid and ftrace.are_of_task(flags)]
    at = [i for i, lines in enumerate(mine) if lines[0] == ftrace.ROUND]
    assert len(at) > ROUNDS / 2, f"{len(at)} {ftrace.ROUND} among {len(mine)} stacks"
    return mine[at[0] : at[-1]]


def agree(own, own_pid, ours, our_pid):
    """Checks that whole rounds have the same stacks in the same order. Returns their number."""
    one, other = of_rounds(own, own_pid), of_rounds(ours, our_pid)
    assert len(one) > 3 * ROUNDS, f"only {len(one)} stacks by the guest itself"
    if one != other:
        differ = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
        raise AssertionError(
            f"{len(one)} stacks by the guest, {len(other)} by hvtrace; from {differ + 1}: "
            f"{one[differ:differ + 2]} and {other[differ:differ + 2]}"
        )
    return len(one)


@case(configs=(*IN_TURN, NEWEST))
def stacks_agree_with_own_ftrace(t):
    """The same workload with func_stack_trace has the same stacks in the same order. All callers in a timer interrupt,
    which are on two stacks, are found up to where the kernel was entered."""
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
    assert ticks, "hardly a timer interrupt"
    cut = [lines for lines in ticks if not ROOTS.fullmatch(lines[-1])]
    silent = [lines for lines in cut if lines[-1] != UNKNOWN]
    assert not silent, f"{len(silent)} of {len(ticks)} end early and do not say so: {silent[0]}"
    # The kernel's own unwinder also ends in the thunk of a retpoline, which has no rule.
    assert len(cut) < len(ticks) / 10, f"{len(cut)} of {len(ticks)} do not end where the kernel is entered: {cut[0]}"
    t.note(f"{nr} stacks agree, in order; {len(ticks)} of interrupts are whole")


@case(configs=(STANDARD[1],))
def stacks_show_whom_a_graph_returns_to(t):
    """The command stacktrace, with function_graph as the tracer: the same stacks in the same order as the guest's."""
    commands = tuple(f"{glob}:stacktrace" for glob in (ftrace.ROUND, "vfs_*", "rw_verify_area"))
    filters = (*FILTERS, "__x64_sys_*", *commands)
    own, own_pid = ftrace.own_trace(t.guest, ("syscalls", ROUNDS), filters, tracer="function_graph")
    with t.attach() as traced:
        ours, our_pid = ftrace.hvtrace_trace(traced, t.guest, ("syscalls", ROUNDS), filters, tracer="function_graph")
    t.note(f"{agree(own, own_pid, ours, our_pid)} stacks agree, in order")


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
