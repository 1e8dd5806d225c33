# SPDX-License-Identifier: GPL-2.0-or-later
"""function_graph's text, with funcgraph-proc and funcgraph-tail, as trees of calls."""

import collections
import re

from .ftrace import IN_SWITCH

LINE = re.compile(
    r"^ *(?P<cpu>\d+)\) +(?P<comm>\S.*)-(?P<pid>\d+) +\| [ +!#*@$] (?:(?P<us>[\d.]+) us *| +)\|  "
    r"(?P<blanks> *)(?:(?P<name>[^ ();{}]+(?: \[\S+\])?)\(\)(?P<how>;| {)|} /\* (?P<left>[^ =]+(?: \[\S+\])?))"
    r"(?:.*?= (?P<value>\S+) \*/)?(?: \*/)?$"
)
NO_CALL = re.compile(r"^(#.*| -+|| *\d+\) .* => .*| *\d+\) .*(==========>|<==========) \|)$")
LOST = re.compile(r"^CPU:\d+ \[LOST (\d+ )?EVENTS\]$")

Line = collections.namedtuple("Line", "cpu pid us depth kind name value")
# folded: the call has one line, or would have if its task had not moved to another CPU. us, value: None until the
# call returns.
Call = collections.namedtuple("Call", "name folded calls us value")

LEAF, ENTER, LEAVE = "leaf", "enter", "leave"


def parse(text):
    """Returns ([Line], events lost). A line that is not the tracer's is an error."""
    lines, lost = [], 0
    for line in text.splitlines():
        match = LINE.match(line)
        gap = LOST.match(line)
        if match:
            kind = LEAVE if match["left"] else LEAF if match["how"] == ";" else ENTER
            depth, odd = divmod(len(match["blanks"]), 2)
            if odd:
                raise ValueError(f"indented by an odd number of blanks: {line!r}")
            lines.append(
                Line(int(match["cpu"]), int(match["pid"]), match["us"] and float(match["us"]), depth, kind,
                     match["name"] or match["left"], match["value"])
            )  # fmt: skip
        elif gap:
            lost += int((gap[1] or "1").strip())
        elif not NO_CALL.match(line):
            raise ValueError(f"not a line of function_graph: {line!r}")
    return lines, lost


def trees(lines, pid, odd=None):
    """Returns [Call] of a task: the outermost calls that begin and end inside the text. Lines whose depth or name does
    not nest are appended to the list ODD and ignored. If ODD is None, they are accepted, and the open calls that are
    deeper than such a line are dropped.

    An interrupt can arrive between the start of a call's frame and its record, or between the record of its return
    and the end of its frame. The text has it before or after that call, one level deeper. Its lines are ignored if
    they are complete and the next line has the depth from before the interrupt.

    A function that __switch_to calls (IN_SWITCH) has the depth of the next task's stack. Its lines are ignored if they
    do not nest, so an interrupt that ends in a switch is complete without them."""
    roots, open_calls = [], []
    early = []  # lines that may belong to such an interrupt
    early_open = []  # the open calls among them
    elsewhere = []  # the open call of a function of IN_SWITCH

    def is_early(line, depth):
        if not early and not (depth == len(open_calls) + 1 and line.kind != LEAVE):
            return False
        if depth != len(open_calls) + 1 + len(early_open) - (line.kind == LEAVE and 1):
            return False
        if line.kind == LEAVE and (not early_open or early_open.pop() != line.name):
            return False
        if line.kind == ENTER:
            early_open.append(line.name)
        early.append(line)
        return True

    def is_elsewhere(line):
        if odd is None:
            return False
        if elsewhere:
            if line.kind == LEAVE and (line.name, line.depth) == elsewhere[0]:
                elsewhere.clear()
            return True
        here = len(open_calls) + (1 + len(early_open) if early else 0)
        if line.name not in IN_SWITCH or line.kind == LEAVE or line.depth == here:
            return False
        if line.kind == ENTER:
            elsewhere.append((line.name, line.depth))
        return True

    def end_of_early(line):
        if early_open or line.depth + (line.kind == LEAVE) != len(open_calls):
            odd.extend(early)
        early.clear()
        early_open.clear()

    def fits(line, depth):
        # The text lacks the start of calls that began before it.
        while len(open_calls) < depth and not roots and not any(name for name, _, _ in open_calls):
            open_calls.append((None, [], None))
        if odd is not None:
            if is_early(line, line.depth):
                return False
            if early:
                end_of_early(line)
        named = line.kind != LEAVE or not open_calls or open_calls[-1][0] in (None, line.name)
        if odd is not None and (len(open_calls) != depth or not named):
            odd.append(line)
            return False
        del open_calls[depth:]
        while len(open_calls) < depth:
            open_calls.append((None, [], None))
        return True

    for line in lines:
        if line.pid != pid or is_elsewhere(line) or not fits(line, line.depth + (line.kind == LEAVE)):
            continue
        calls, cpu = (), line.cpu
        if line.kind == LEAVE:
            name, calls, cpu = open_calls.pop()
            if name != line.name:
                continue
        if line.kind == ENTER:
            open_calls.append((line.name, [], line.cpu))
            continue
        moved = not calls and cpu != line.cpu
        done = Call(line.name, line.kind == LEAF or moved, tuple(calls), line.us, line.value)
        if open_calls:
            open_calls[-1][1].append(done)
        else:
            roots.append(done)
    return roots


def shape(call):
    """Returns the call without times and values."""
    return (call.name, call.folded, tuple(shape(c) for c in call.calls))


def unmatched(lines):
    """Returns the pairs (open call, return) of a task (for an idle task: of its CPU) that do not match, and the number
    of those that do. Ignores returns of calls before the first line. Tasks move between CPUs, so events from before
    the start of another CPU's buffer are ignored, too."""
    stacks, wrong, right = collections.defaultdict(list), [], 0
    first = {}
    for at, line in enumerate(lines):
        first.setdefault(line.cpu, at)
    for line in lines[max(first.values(), default=0) :]:
        stack = stacks[line.pid, line.cpu if line.pid == 0 else -1]
        if line.kind == ENTER:
            stack.append(line)
        elif line.kind == LEAF:
            right += 1
        elif stack:
            call = stack.pop()
            if (call.name, call.depth) == (line.name, line.depth):
                right += 1
            else:
                wrong.append((call, line))
    return wrong, right


def walk(calls, above=()):
    """Yields (path, Call) for every call; a path has the names, outermost first."""
    for call in calls:
        path = (*above, call.name)
        yield path, call
        yield from walk(call.calls, path)


def rounds(roots, name):
    """Returns the roots from the first that contains a call of NAME up to, but without, the last such root."""
    at = [i for i, root in enumerate(roots) if any(c.name == name for _, c in walk([root]))]
    if len(at) < 2:
        raise AssertionError(f"{len(at)} {name} among {len(roots)} outermost calls")
    return roots[at[0] : at[-1]]


def each_round(of_rounds, name):
    """Splits the roots of rounds() into a list for each round."""
    found = []
    for root in of_rounds:
        if any(c.name == name for _, c in walk([root])):
            found.append([])
        found[-1].append(root)
    return found


def difference(one, other):
    """Describes the first difference between the shapes of two lists of calls. Returns None if they are equal."""
    for i in range(max(len(one), len(other))):
        a = one[i] if i < len(one) else None
        b = other[i] if i < len(other) else None
        if a is None or b is None or a.name != b.name:
            return f"call {i + 1}: {a and a.name} and {b and b.name}"
        deeper = difference(a.calls, b.calls)
        if deeper:
            return f"{a.name}: {deeper}"
        if a.folded != b.folded:
            return f"{a.name}: {'in one line' if a.folded else 'not folded'} and {'in one line' if b.folded else 'not folded'}"
    return None
