# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes inside functions, compared with the guest's own kprobes."""

import collections
import re

from cases_events import OWN, events_of, read_ours
from cases_probes import OPENS
from lib.suite import ONE_VCPU, case

FUNCTIONS = ("vfs_open", "do_dentry_open", "vfs_read")  # each kernel has two of them
LOOKED_AT = 128  # bytes of each function
APART = 26  # bytes, so that a guest's kprobe at one place does not affect the next
REGISTERS = ("ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "flags")
FETCHES = " ".join(f"{name}=%{name}" for name in REGISTERS)
TRY = (
    "for f in FUNCTIONS; do off=6; while [ $off -lt LOOKED_AT ]; do"
    ' echo "$f $off $(ECHO p:try $f+$off 2>&1 >kprobe_events && echo defined)"; echo >kprobe_events; off=$((off + 1)); done; done'
)
NO_BOUNDARY = "multibyte"  # libc's text for EILSEQ
STATUS_FLAGS = 0x8C1  # those that code depends on: OF, SF, ZF, CF
TEXT = re.compile(r"^p(\d+): \((\w+)\+0x([0-9a-f]+)(?:/0x[0-9a-f]+)?\)(.*)")


def tried(text):
    """Returns {(function, offset): result} from the lines that TRY prints."""
    lines = (line.split(" ", 2) for line in text.splitlines() if line.count(" ") >= 2)
    return {(name, int(off)): what for name, off, what in lines if off.isdigit()}


def size_of(t, function):
    lines = t.guest.run(f"grep -A3 ' {function}$' /proc/kallsyms").splitlines()
    first, *others = (int(line.split()[0], 16) for line in lines)
    return next(at for at in others if at > first) - first


def chosen(ours, own):
    """Returns [(function, offset, end of the relocated instructions)] of places that are far enough apart."""
    found = []
    for (name, off), what in ours.items():
        last = found[-1] if found and found[-1][0] == name else (name, -APART, -APART)
        follows = [at for at in range(off + 5, off + 16) if NO_BOUNDARY not in own.get((name, at), NO_BOUNDARY)]
        if what == "defined" and off >= last[1] + APART and follows and own[name, follows[0]] == "defined":
            found.append((name, off, follows[0]))
    return found


def recorded(text):
    """Returns {number of a probe: [(pid, {register: value})]}."""
    found = collections.defaultdict(list)
    for _, (pid, _, _, what) in events_of(text):
        match = TEXT.match(what)
        if match:
            values = {name: int(value, 16) for name, value in (arg.split("=") for arg in match[4].split())}
            values["flags"] &= STATUS_FLAGS
            found[int(match[1])].append((pid, values))
    return found


def together(ours, own):
    """Returns the calls that both have recorded, of tasks with equal numbers of calls in both: the guest's own probes
    start later and end earlier."""
    counts = collections.Counter(pid for pid, _ in ours), collections.Counter(pid for pid, _ in own)
    pids = {pid for pid in counts[1] if counts[0][pid] == counts[1][pid]}
    return list(zip((call for call in ours if call[0] in pids), (call for call in own if call[0] in pids)))


def changed(calls):
    """Returns the registers that ever differ between a place and the end of its instructions, in the same calls."""
    return {name for (_, mine), (_, theirs) in calls for name in mine if mine[name] != theirs[name]}


def paths(text):
    """Returns how often tasks of each name took each path through functions: the places on the path, and the stack used
    since the call's first place. A call begins where the stack becomes shallower, or where a place repeats."""
    found = collections.defaultdict(list)
    for _, (pid, _, _, what) in events_of(text):
        match = TEXT.match(what)
        if match:
            args = dict(arg.split("=") for arg in match[4].split())
            found[args["c"], pid].append((match[2], int(match[3], 16), int(args["sp"], 16)))
    ways = collections.Counter()
    for (comm, _), met in found.items():
        for function in {name for name, _, _ in met}:
            first, way = None, []
            for off, sp in ((off, sp) for name, off, sp in met if name == function):
                if way and off <= way[-1][0]:
                    ways[comm, function, tuple(way)] += 1
                    way = []
                first = first if way else sp
                way.append((off, first - sp))
            ways[comm, function, tuple(way)] += 1
    return ways


def all_at_once(t, traced, every):
    """Probes at all instructions: first the guest's own kprobes, then hvtrace's, which are enabled in reverse order, so
    that each new one comes before the present ones. Tasks take the same paths with both."""
    traced.echo("events/kprobes/enable", "0")
    define = "".join(f"echo 'p:p{n} {name}+{off} sp=%sp c=$comm' >>kprobe_events; " for n, (name, off) in enumerate(every))
    text = t.guest.run(
        f"cd {OWN}; echo 4000 >buffer_size_kb; {define} echo 1 >events/kprobes/enable; echo >trace; {OPENS};"
        " echo 0 >events/kprobes/enable; cat trace; echo >kprobe_events; echo 1 >buffer_size_kb",
        timeout=300,
    )
    own = paths(text)
    traced.echo("kprobe_events", "")
    for n, (name, off) in enumerate(every):
        traced.echo("kprobe_events", f"p:p{n} {name}+{off} sp=%sp c=$comm", append=True)
    for n in reversed(range(len(every))):
        traced.echo(f"events/kprobes/p{n}/enable", "1")
    for state in "0", "1":  # the other probes keep the jumps of the runs that they were in
        for n in range(0, len(every), 2):
            traced.echo(f"events/kprobes/p{n}/enable", state)
    traced.echo("trace", "")
    t.guest.run(OPENS)
    text = traced.text("trace", timeout=300)
    ours = paths(text)
    met = {(name, off) for _, name, way in ours for off, _ in way}
    assert len(met) > len(every) / 2, (len(met), every)
    same = {way: (nr, ours[way]) for way, nr in own.items() if way[0] in ('"ls"', '"cat"')}
    assert same and all(mine == theirs for theirs, mine in same.values()), {way: nr for way, nr in same.items() if nr[0] != nr[1]}
    t.note(f"{len(every)} places together, {sum(ours.values())} calls, {len(same)} paths equal to the guest's")


@case(configs=ONE_VCPU[1:])
def probes_inside_functions(t):
    """hvtrace accepts a place only where the guest's own kprobes find an instruction. hvtrace's probes have all
    registers. After the relocated instructions, which keep their effect, the registers equal the guest's own probes'.
    All possible places have probes together, with several instructions replaced by one jump. recover restores the
    changes of a killed session."""
    functions = FUNCTIONS[:2] if t.guest.config == ONE_VCPU[0] else FUNCTIONS[1:]
    attempt = TRY.replace("FUNCTIONS", " ".join(functions)).replace("LOOKED_AT", str(LOOKED_AT))
    # The echo of the host's shell does not print the reason of a failure.
    with t.attach() as traced:
        ours = tried(read_ours(t, attempt.replace("ECHO", "env echo")).decode())
        own = tried(t.guest.run(f"cd {OWN}; {attempt.replace('ECHO', 'echo')}", timeout=600))
        assert len(ours) == len(own) == len(functions) * (LOOKED_AT - 6), (len(ours), len(own))
        sizes = {name: size_of(t, name) for name in functions}
        for name in functions:  # the guest's kprobes know no instruction after a breakpoint, which padding may contain
            inside = {off: what for (function, off), what in own.items() if function == name and off < sizes[name]}
            sizes[name] = 1 + max(off for off, what in inside.items() if NO_BOUNDARY not in what)
        for place, what in ours.items():
            assert what != "defined" or own[place] == "defined", (place, own[place])
            if place[1] >= sizes[place[0]]:
                continue  # in the padding after the function, or in the next function
            assert (NO_BOUNDARY in what) == (NO_BOUNDARY in own[place]), (place, what, own[place])
        places = chosen({place: what for place, what in ours.items() if place[1] < sizes[place[0]]}, own)
        assert len(places) > 6, ours
        for n, (name, off, _) in enumerate(places):
            traced.echo("kprobe_events", f"p:p{n} {name}+{off} {FETCHES}", append=True)
        lines = traced.text("kprobe_events").splitlines()
        assert lines[0].startswith(f"p:kprobes/p0 {places[0][0]}+{places[0][1]} ax=%ax "), lines[0]
        traced.echo("events/kprobes/enable", "1")
        mine = "".join(f"echo 'p:p{n} {name}+{follows} {FETCHES}' >>kprobe_events; " for n, (name, _, follows) in enumerate(places))
        text = t.guest.run(
            f"cd {OWN}; echo 4000 >buffer_size_kb; {mine} echo 1 >events/kprobes/enable; echo >trace; {OPENS};"
            " echo 0 >events/kprobes/enable; cat trace; echo >kprobe_events; echo 1 >buffer_size_kb",
            timeout=300,
        )
        traced.echo("events/kprobes/enable", "0")
        behind, at = recorded(text), recorded(traced.text("trace", timeout=300))
        same, most = 0, 0
        for n in range(len(places)):
            calls = together(at[n], behind[n])
            assert {pid for pid, _ in behind[n]} <= {pid for pid, _ in at[n]}, (places[n], behind[n][:1])
            assert [mine[0] for mine, _ in calls] == [theirs[0] for _, theirs in calls], places[n]
            if calls:
                differ = changed(calls)
                t.note(f"{places[n][0]}+{places[n][1]}: {len(calls)} calls, {','.join(sorted(differ))}")
                same += len(differ) <= 4
                most += 1
        assert most > 3 and same > most / 2, (same, most, len(behind), len(at))
        hits = {line.split()[0]: int(line.split()[1]) for line in traced.text("kprobe_profile").splitlines()}
        assert all(hits[f"p{n}"] == len(at[n]) for n in range(len(places))), hits
        traced.echo("kprobe_events", "")
        traced.echo("kprobe_events", f"p {places[0][0]}+{places[0][1]} word=+0(%sp):symbol old=+0(%r10):x8 c=$comm")
        made = f"p_{places[0][0]}_{places[0][1]}"
        assert traced.text("kprobe_events").startswith(f"p:kprobes/{made} "), traced.text("kprobe_events")
        traced.echo("events/kprobes/enable", "1")
        t.guest.run(OPENS)
        traced.echo("events/kprobes/enable", "0")
        assert re.search(rf' {made}: \({places[0][0]}\+{places[0][1]:#x}/0x[0-9a-f]+\) word=.* c="ls"', traced.text("trace"))
        traced.echo("events/kprobes/enable", "1")
        every = [place for place, what in ours.items() if what == "defined" and place[1] < sizes[place[0]]]
        all_at_once(t, traced, every)
        t.note(f"{len(places)} places, {sum(what == 'defined' for what in ours.values())} possible of {sum(what == 'defined' for what in own.values())}")
    traced = t.attach().__enter__()
    for n, (name, off) in enumerate(every):
        traced.echo("kprobe_events", f"p:p{n} {name}+{off} ax=%ax", append=True)
    traced.echo("events/kprobes/enable", "1")
    traced.kill()
    t.guest.run(OPENS)  # executes the detours
    said = t.recover()
    restored = re.search(r"(\d+) instructions that led to detours restored", said)
    assert restored and len(places) <= int(restored[1]) < len(every), said
