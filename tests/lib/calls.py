"""The text of function_graph: trees of calls, from the guest's own tracer or from hvtrace."""

import collections
import re

from lib import ftrace

# With funcgraph-proc and funcgraph-tail.
LINE = re.compile(r"^ *(?P<cpu>\d+)\) +(?P<comm>.+)-(?P<pid>\d+) +\|[^|]*\|  (?P<indent> *)(?P<text>\S.*)$")
OPTIONS = ("funcgraph-proc", "funcgraph-tail")

# A function that is called and (is_call False) one that returns; a leaf is two of them.
Step = collections.namedtuple("Step", "cpu pid depth function is_call")


def steps(text):
    """[Step] of a trace; what is no call or return (headers, switches, arrows) is left out."""
    found = []
    for line in text.splitlines():
        match = LINE.match(line)
        if not match:
            continue
        cpu, pid, depth, words = int(match["cpu"]), int(match["pid"]), len(match["indent"]) // 2, match["text"]
        leaf = re.match(r"^(\S+?)(?: \[\S+\])?\(\);", words)
        entry = re.match(r"^(\S+?)(?: \[\S+\])?\(\) \{", words)
        exit_ = re.match(r"^\} /\* (\S+?)(?: \[\S+\])? \*/", words)
        if leaf or entry:
            found.append(Step(cpu, pid, depth, (leaf or entry)[1], True))
        if leaf or exit_:
            found.append(Step(cpu, pid, depth, (leaf or exit_)[1], False))
        if not (leaf or entry or exit_) and not words.startswith(("/*", "==", "<=")):
            raise ValueError(f"not a line of function_graph: {line!r}")
    return found


def rounds(text, pid):
    """[(depth, function, is_call)] of `workload syscalls N` from its first lseek to before its last."""
    own = [(s.depth, s.function, s.is_call) for s in steps(text) if s.pid == pid]
    at = [i for i, step in enumerate(own) if step[1] == ftrace.ROUND and step[2]]
    if len(at) < 2:
        raise AssertionError(f"{len(at)} calls of {ftrace.ROUND} among {len(own)} steps")
    return own[at[0] : at[-1]]


def trees(text, pid, root):
    """Counter of the whole calls of ROOT: each the tuple of its steps, depths from 0 on."""
    found, tree, base = collections.Counter(), None, 0
    for step in steps(text):
        if step.pid != pid:
            continue
        if tree is None and step.is_call and step.function == root:
            tree, base = [], step.depth
        if tree is None:
            continue
        tree.append((step.depth - base, step.function, step.is_call))
        if step.function == root and not step.is_call and step.depth == base:
            found[tuple(tree)] += 1
            tree = None
    return found


def unmatched(text):
    """Returns that are not of the call that is open on their task (the idle task: and CPU), and the
    number of those that are. A return of a call before the first line is none of them."""
    stacks, wrong, right = collections.defaultdict(list), [], 0
    for step in steps(text):
        stack = stacks[step.pid, step.cpu if step.pid == 0 else -1]
        if step.is_call:
            stack.append(step)
        elif stack:
            call = stack.pop()
            if (call.function, call.depth) == (step.function, step.depth):
                right += 1
            else:
                wrong.append((call, step))
    return wrong, right


def own_trace(guest, words, filters, roots=()):
    """The guest's own text of one run of the workload, and the workload's pid."""
    settings = "".join(f"echo 1 >options/{o}; " for o in OPTIONS)
    guest.run("cd /sys/kernel/tracing && echo 0 >tracing_on && echo nop >current_tracer && echo 65536 >buffer_size_kb")
    pid = ftrace.start_workload(guest, *words)
    try:
        guest.run(
            f"cd /sys/kernel/tracing && echo {pid} >set_ftrace_pid && "
            + "".join(f"echo '{glob}' >>set_ftrace_filter && " for glob in filters)
            + "".join(f"echo '{glob}' >>set_graph_function && " for glob in roots)
            + f"echo function_graph >current_tracer && {{ {settings} }} && echo >trace && echo 1 >tracing_on",
            timeout=300,
        )
        ftrace.go(guest, pid, timeout=300)
        guest.run("echo 0 >/sys/kernel/tracing/tracing_on")
        return guest.run("cat /sys/kernel/tracing/trace", timeout=300), pid
    finally:
        guest.run(
            "cd /sys/kernel/tracing && echo 0 >tracing_on; "
            + "".join(f"echo 0 >options/{o}; " for o in OPTIONS)
            + "echo nop >current_tracer; echo >set_ftrace_filter; echo >set_graph_function; echo >set_ftrace_pid;"
            "echo >trace; echo 1 >buffer_size_kb; echo 1 >tracing_on",
            timeout=300,
        )


def hvtrace_trace(traced, guest, words, filters, roots=()):
    """The same by hvtrace."""
    pid = ftrace.start_workload(guest, *words)
    traced.echo("tracing_on", "0")
    traced.echo("set_ftrace_pid", str(pid))
    traced.echo("set_ftrace_filter", *filters)
    traced.echo("set_graph_function", *roots)
    traced.echo("current_tracer", "function_graph")
    for option in OPTIONS:
        traced.echo(f"options/{option}", "1")
    traced.echo("trace", "")
    traced.echo("tracing_on", "1")
    ftrace.go(guest, pid, timeout=300)
    traced.echo("tracing_on", "0")
    text = traced.text("trace", timeout=300)
    for option in OPTIONS:
        traced.echo(f"options/{option}", "0")
    traced.echo("current_tracer", "nop")
    for file in ("set_ftrace_filter", "set_graph_function", "set_ftrace_pid"):
        traced.echo(file, "")
    traced.echo("tracing_on", "1")
    return text, pid
