# SPDX-License-Identifier: GPL-2.0-or-later
"""The function tracer's text, and the guest's own ftrace as the reference."""

import collections
import re

LONG_SECONDS = 300  # for commands with all functions traced, or that use the guest's own ftrace

LINE = re.compile(
    r"^\s*(?P<comm>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<flags>\S{4,8})\s+"
    r"(?P<time>\d+\.\d{6}): (?P<function>\S+(?: \[\S+\])?) <-(?P<caller>\S+(?: \[\S+\])?)$"
)
LOST = re.compile(r"^CPU:(\d+) \[LOST (\d+ )?EVENTS\]$")

ROUND = "__x64_sys_lseek"
# Functions that __switch_to calls. The stack, and so the depth, is already the next task's, but the pid is still the
# previous task's. The guest's own pid filter already uses the next task.
IN_SWITCH = ("save_fpregs_to_fpstate", "xfd_validate_state", "x86_task_fpu")
Event = collections.namedtuple("Event", "comm pid cpu flags time function caller")


def parse(text, strict=True):
    """Returns ([Event], events lost). If STRICT, a line that is not the tracer's is an error."""
    events, lost = [], 0
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        match = LINE.match(line)
        if match:
            events.append(
                Event(match["comm"], int(match["pid"]), int(match["cpu"]), match["flags"],
                      float(match["time"]), match["function"], match["caller"])
            )  # fmt: skip
            continue
        gap = LOST.match(line)
        if gap:
            lost += int(gap[2] or 1)
        elif strict and not line.startswith("##### CPU"):
            raise ValueError(f"not a line of the function tracer: {line!r}")
    return events, lost


def are_of_task(flags):
    """Returns whether FLAGS are of an event outside interrupts (hard, soft, NMI). PREEMPT_RT before 6.12 has one more
    flag before this one, a kernel before 5.12 one fewer after it."""
    return flags[2 if len(flags) <= 5 else 3] == "."


def in_task(event):
    return are_of_task(event.flags)


# The entry code of older kernels, such as 5.4, calls these before it counts the interrupt.
OF_INTERRUPTS = re.compile(r"do_IRQ|smp_\w*interrupt")


def calls(events, pid):
    """Returns [(function, caller)] of a task, without calls in interrupts."""
    mine = (e for e in events if e.pid == pid and in_task(e))
    return [(e.function, e.caller) for e in mine if not OF_INTERRUPTS.fullmatch(e.function)]


def rounds(events, pid, first=ROUND):
    """Returns calls() of `workload syscalls N` from the first lseek up to, but without, the last: N - 1 rounds, without
    start and exit, whose memory management varies. FIRST must be among the filters."""
    all_calls = calls(events, pid)
    at = [i for i, (function, _) in enumerate(all_calls) if function == first]
    if len(at) < 2:
        raise AssertionError(f"{len(at)} {first} among {len(all_calls)} calls")
    return all_calls[at[0] : at[-1]]


def in_every_round(of_rounds):
    """Returns the calls of rounds() that occur in every round."""
    at = [i for i, (function, _) in enumerate(of_rounds) if function == ROUND] + [len(of_rounds)]
    return set.intersection(*(set(of_rounds[start:end]) for start, end in zip(at, at[1:])))


def start_workload(guest, *words):
    """Starts the workload, which waits for go(). Returns its pid."""
    text = guest.run(
        f"rm -f /tmp/w.out; workload {' '.join(map(str, words))} >/tmp/w.out 2>&1 & "
        "while [ -d /proc/$! ] && ! grep -q ^pid /tmp/w.out 2>/dev/null; do sleep 0.1; done; cat /tmp/w.out"
    )
    match = re.search(r"^pid (\d+)$", text, re.M)
    if not match:
        raise AssertionError(f"workload did not start: {text!r}")
    return int(match[1])


def go(guest, pid, timeout=LONG_SECONDS):
    """Lets the workload run to its end."""
    text = guest.run(
        f"kill -USR1 {pid}; while [ -d /proc/{pid} ]; do sleep 0.05; done; cat /tmp/w.out",
        timeout=timeout,
    )
    if "done" not in text:
        raise AssertionError(f"workload did not end well: {text!r}")


def own_trace(guest, words, filters, pid_filter=True, tracer="function", options=(), files=()):
    """Returns the guest's own trace of one run of the workload, and the workload's pid. FILTERS may be commands, too.
    OPTIONS: names in trace_options, off before. FILES: pairs (name, text); 0 or a truncation resets the files."""
    guest.run("cd /sys/kernel/tracing && echo 0 >tracing_on && echo nop >current_tracer && echo 65536 >buffer_size_kb")
    pid = start_workload(guest, *words)
    try:
        guest.run_own(
            "cd /sys/kernel/tracing && "
            + (f"echo {pid} >set_ftrace_pid && " if pid_filter else "")
            + "".join(f"echo '{glob}' >>set_ftrace_filter && " for glob in filters)
            + "".join(f"echo '{text}' >{name} && " for name, text in files)
            + f"echo {tracer} >current_tracer && "
            + "".join(f"echo {option} >trace_options && " for option in options)
            + "echo >trace && echo 1 >tracing_on",
            timeout=LONG_SECONDS,
        )
        go(guest, pid)
        guest.run("echo 0 >/sys/kernel/tracing/tracing_on")
        return guest.run("cat /sys/kernel/tracing/trace", timeout=LONG_SECONDS), pid
    finally:
        guest.run_own(
            "cd /sys/kernel/tracing && echo 0 >tracing_on; "
            + "".join(f"echo no{option} >trace_options; " for option in options)
            + "".join(f"echo {0 if text.isdigit() else ''} >{name}; " for name, text in files)
            + "echo nop >current_tracer; "
            + "".join(f"echo '!{glob}' >>set_ftrace_filter; " for glob in filters if ":" in glob)
            + "echo >set_ftrace_filter;"
            "echo >set_ftrace_pid; echo >trace; echo 1 >buffer_size_kb; echo 1 >tracing_on",
            timeout=LONG_SECONDS,
        )


def hvtrace_trace(traced, guest, words, filters, pid_filter=True, tracer="function", options=(), files=(), where=""):
    """Like own_trace(), but traced by hvtrace. WHERE: the instance, with a slash at its end."""
    pid = start_workload(guest, *words)
    traced.echo(f"{where}tracing_on", "0")
    if pid_filter:
        traced.echo(f"{where}set_ftrace_pid", str(pid))
    traced.echo(f"{where}set_ftrace_filter", *filters)
    for name, text in files:
        traced.echo(f"{where}{name}", text)
    traced.echo(f"{where}current_tracer", tracer)
    for option in options:
        traced.echo(f"{where}trace_options", option)
    traced.echo(f"{where}trace", "")
    traced.echo(f"{where}tracing_on", "1")
    go(guest, pid)
    traced.echo(f"{where}tracing_on", "0")
    text = traced.text(f"{where}trace", timeout=LONG_SECONDS)
    for option in options:
        traced.echo(f"{where}trace_options", f"no{option}")
    for name, value in files:
        traced.echo(f"{where}{name}", "0" if value.isdigit() else "")
    traced.echo(f"{where}current_tracer", "nop")
    traced.echo(f"{where}set_ftrace_filter", "")
    traced.echo(f"{where}set_ftrace_pid", "")
    traced.echo(f"{where}tracing_on", "1")
    return text, pid
