# SPDX-License-Identifier: GPL-2.0-or-later
"""hvtrace profile: programs with known call chains and known shares of CPU time and sleep."""

import json
import os
import re
import shutil
import subprocess
import xml.dom.minidom

from lib.suite import NEWEST, OLDEST, STANDARD, case

SUMMARY = re.compile(r"profiled [\d.]+ s on \d+ vCPUs?: (\d+) samples at the timer tick, \d+ % in programs")
BLOCKED = re.compile(r"profiled ([\d.]+) s on \d+ vCPUs?: tasks were blocked for [\d.]+ s, waited for a vCPU for [\d.]+ s, and ran")
TIMES = re.compile(r" *([\d.]+) s +([\d.]+) s +([\d.]+) s +([\d.]+) s  (frames|giver)-\d+")
CHAIN = ["main", *["nest"] * 21, "outer"]
LEAVES = ("spin_left", "spin_right")
CONTAINER = "0123456789abcdef" * 4
READ = ["ksys_read_[k]", "vfs_read_[k]"]


def read_stacks(path):
    """Returns [(names, samples)] and removes the file."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    os.unlink(path)
    return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in lines]


def read_pprof(path):
    """Returns the functions with samples, or None without pprof."""
    if not shutil.which("go"):
        return None
    done = subprocess.run(["go", "tool", "pprof", "-symbolize=none", "-top", path], capture_output=True, check=True, timeout=60)
    return [line.split()[5] for line in done.stdout.decode().splitlines() if re.match(r" +\d+ ", line)]


def count(stacks, has):
    return sum(nr for names, nr in stacks if has(names))


def off_cpu_of_a_program(t, path):
    """In each round of 450 ms, the program sleeps for 300 ms, waits for its thread's answer for 100 ms, and runs for 50 ms."""
    t.guest.run("frames block >/dev/null 2>&1 & echo")
    try:
        shown = t.hv("profile", t.name, "--for=4s", "--off-cpu", "--wakeups", "--on-cpu", "--per=task", "-o", path, timeout=300)
    finally:
        t.guest.run("kill $(pidof frames)")
    stacks = read_stacks(path)
    wall = float(BLOCKED.match(shown).group(1))
    times = {found.group(5): [float(found.group(n)) for n in range(1, 5)] for found in map(TIMES.match, shown.splitlines()) if found}
    for name, parts in times.items():
        assert abs(sum(parts) - wall) < 0.11 and parts[3] < 0.3 * wall, f"{name}: {parts} do not add up to {wall} s: {shown}"
    assert wall >= 2 and abs(sum(times["frames"]) - sum(times["giver"])) < 0.005, times
    running = times["frames"][0] / sum(times["frames"])
    shown_in_stacks = count(stacks, lambda names: names[0].startswith("frames")) / 1e6
    spins = count(stacks, lambda names: names[1] == "[running]" and names[-1] in LEAVES) / 1e6
    assert abs(shown_in_stacks - sum(times["frames"][:3])) < 0.005, f"{shown_in_stacks} s in stacks: {shown}"
    assert spins >= 0.4 * times["frames"][0], f"{spins} s in the functions that run: {stacks}"
    rests = count(stacks, lambda names: names[1] == "[blocked]" and "rest" in names)
    asks = count(stacks, lambda names: names[1] == "[blocked]" and names[0].startswith("frames") and "ask" in names)
    # Since 6.15, the functions are anon_pipe_read() and anon_pipe_write().
    pipes = [[f"{prefix}pipe_read_[k]", "[woken by giver]", f"{prefix}pipe_write_[k]"] for prefix in ("", "anon_")]
    given = count(stacks, lambda names: "ask" in names and any(set(pipe) <= set(names) for pipe in pipes))
    assert 0.05 <= running <= 0.25, f"it runs for {running} of its time: {shown}"
    assert 0.65 <= rests / (rests + asks) <= 0.8 and rests + asks >= 1e6, f"{rests} us in rest(), {asks} us in ask(): {stacks}"
    assert given >= 0.7 * asks, f"{given} of {asks} us are for the thread's answer: {stacks}"
    return f"blocked for {rests / 1e6:.3f} s in rest(), {asks / 1e6:.3f} s in ask(); running {running * 100:.1f} %, {spins:.3f} s in samples"


def hottest_functions(t):
    """`top --programs` shows the functions of `frames`, the one with two thirds of the time first. Returns its rows."""
    (line,) = t.hv("top", t.name, "--programs", "--json", "-n", "1", "-d", "2s", timeout=300).splitlines()
    (found,) = json.loads(line)["domains"]
    rows = [row for row in found["programs"]["functions"] if row["program"] == "frames"]
    assert not found["no_programs"] and [row["function"] for row in rows[:2]] == list(LEAVES), found
    assert all(row["file"] == "/bin/frames" for row in rows), found
    return [(row["function"], row["samples"], row["percent"]) for row in rows]


@case(configs=(STANDARD[0],), further=(OLDEST, *STANDARD[1:], NEWEST))
def flame_graph_of_a_program(t):
    """The stack of a program with frame pointers is exact, with the names of its functions and the kernel's, and the
    shares of its functions are as built; with --off-cpu also the functions that block, and their wakers. The picture is
    XML, and the probe is gone at the end."""
    path = f"/run/hvtrace-test/{t.name}.folded"
    picture, later, pprof = (path.replace("folded", suffix) for suffix in ("svg", "jsonl", "pb.gz"))
    with t.attach() as traced:
        t.guest.run(f"mkdir -p /tmp/cg; mount -t cgroup2 none /tmp/cg; mkdir /tmp/cg/docker-{CONTAINER}.scope")
        t.guest.run(f"(echo 0 >/tmp/cg/docker-{CONTAINER}.scope/cgroup.procs; exec frames 600) >/dev/null 2>&1 &"
                    " dd if=/dev/zero of=/dev/null bs=16k >/dev/null 2>&1 & echo")
        try:
            shown = t.hv("profile", t.name, "--for=4s", "-o", path, timeout=300)
            t.hv("profile", t.name, "--for=2s", "-o", later, timeout=300)
            change = t.hv("profile", "--diff", path, later)
            stacks = read_stacks(path)
            assert not traced.text("kprobe_events"), traced.text("kprobe_events")
            t.hv("profile", t.name, "--for=2s", "--per=container", "-o", picture, timeout=300)
            drawn = xml.dom.minidom.parse(picture).toxml()
            assert f'data-n="docker:{CONTAINER[:12]}"' in drawn and "spin_left" in drawn, drawn[:4000]
            os.unlink(picture)
            t.hv("profile", t.name, "--for=2s", "-o", pprof, timeout=300)
            hottest = hottest_functions(t)
        finally:
            t.guest.run(f"kill $(pidof frames dd); until rmdir /tmp/cg/docker-{CONTAINER}.scope && umount /tmp/cg; do sleep 0.1; done 2>/dev/null")
        off_cpu = off_cpu_of_a_program(t, path) + f"; top: {hottest}"
        assert not traced.text("kprobe_events"), traced.text("kprobe_events")
    assert SUMMARY.match(shown), shown
    functions = read_pprof(pprof)
    assert functions is None or {"spin_left", "ksys_read"} <= set(functions), functions
    assert re.search(r"^ *[\d.]+ % +[+-][\d.]+ +spin_left$", change, re.M), change
    for file in (later, pprof):
        os.unlink(file)
    total = count(stacks, lambda names: names[0] == "frames")
    exact = count(stacks, lambda names: names[2:-1] == CHAIN and names[-1] in LEAVES)
    left = count(stacks, lambda names: names[-1] == LEAVES[0])
    assert total >= 20 and exact >= 0.85 * total, f"{exact} of {total} samples have the whole stack: {stacks}"
    assert 0.4 * exact <= left <= 0.9 * exact, f"{left} of {exact} samples are in the function that takes two thirds"
    copies = count(stacks, lambda names: names[0] == "dd")
    reads = count(stacks, lambda names: names[0] == "dd" and any(names[i : i + 2] == READ for i in range(len(names))))
    assert copies >= 20 and reads >= 0.2 * copies, f"{reads} of {copies} samples of dd are in read: {stacks}"
    t.note(f"{exact} of {total} samples have the whole stack, {left} in the function of two thirds; {reads} of {copies} in read; {off_cpu}"
           + ("" if functions else "; without pprof"))


OUTERMOST = ["main", *["nest"] * 21, "outer"]


def user_part(names):
    """Returns the functions of the program, without the group and the kernel's functions."""
    return [name for name in names[1:] if not name.endswith("_[k]")]


def is_whole(users):
    """Whether the functions USERS are a whole stack of `unframed`."""
    if users[:1] != ["_start"] or "main" not in users:
        return False
    users = users[users.index("main") :]
    inner = users[len(OUTERMOST) :]
    if "on_signal" in inner and inner[inner.index("on_signal") + 1 :] not in ([], ["spin"]):
        return False
    if "compare" in inner[:-1] or users[: len(OUTERMOST)] != OUTERMOST[: len(users)]:
        return False
    return inner in ([], ["spin"]) or inner[0] in ("search", "order", "ask", "signaled")


@case(configs=(STANDARD[0],), further=(OLDEST, *STANDARD[1:], NEWEST), sanitized=True)
def stacks_without_frame_pointers(t):
    """With --user-stack=dwarf, the stacks of a program without frame pointers are whole, through functions of Debian's
    libc and the vDSO; without it, few are. Stacks with a signal, for which the kernel may store more of the registers
    than fits into a copy, are whole or end early. A stack that is longer than its copy has the functions of both parts
    of the copy, and is counted."""
    path = f"/run/hvtrace-test/{t.name}.folded"
    with t.attach() as traced:
        t.guest.run("unframed 600 >/dev/null 2>&1 & echo")
        try:
            shown = t.hv("profile", t.name, "--for=6s", "--user-stack=dwarf", "-o", path, timeout=300)
            stacks = [(user_part(names), nr) for names, nr in read_stacks(path) if names[0] == "unframed"]
            assert not traced.text("kprobe_events"), traced.text("kprobe_events")
            t.hv("profile", t.name, "--for=3s", "-o", path, timeout=300)
            plain = [(user_part(names), nr) for names, nr in read_stacks(path) if names[0] == "unframed"]
        finally:
            t.guest.run("kill $(pidof unframed)")
        t.guest.run("unframed deep >/dev/null 2>&1 & echo")
        try:
            deep = t.hv("profile", t.name, "--for=3s", "--user-stack=dwarf", "-o", path, timeout=300)
            longest = max(len(user_part(names)) for names, _ in read_stacks(path) if names[0] == "unframed")
        finally:
            t.guest.run("kill $(pidof unframed)")
        assert not traced.text("kprobe_events"), traced.text("kprobe_events")
    parts = {name: count(stacks, lambda users, name=name: name in users[-12:]) for name in ("search", "compare", "ask", "[vdso]", "on_signal")}
    assert all(parts.values()), f"{parts}: {stacks}"
    stacks = [(users, nr) for users, nr in stacks if is_whole(users) or "on_signal" not in users]
    total, whole = sum(nr for _, nr in stacks), count(stacks, is_whole)
    others = [users for users, _ in stacks if not is_whole(users)]
    early = re.search(r"^\d+ of \d+ stacks of programs.*", shown, re.M)
    assert total >= 50 and whole >= 0.95 * total, f"{whole} of {total} stacks are whole: {shown} {others}"
    assert count(plain, is_whole) <= 0.2 * sum(nr for _, nr in plain), plain
    assert re.search(r"^\d+ of \d+ stacks of programs end early:.* \d+: longer than the copy", deep, re.M), deep
    assert longest >= 30, f"{longest} functions are less than both parts of a copy have: {deep}"
    t.note(f"{whole} of {total} stacks are whole, {count(plain, is_whole)} of {sum(nr for _, nr in plain)} by frame pointers; {parts}; "
           f"{longest} functions of a longer stack; not whole: {[users[-3:] for users in others]}; {early.group() if early else 'none ends early'}")
