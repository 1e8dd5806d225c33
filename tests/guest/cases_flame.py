# SPDX-License-Identifier: GPL-2.0-or-later
"""hvtrace profile: a program with a known call chain and known shares of CPU time."""

import os
import re
import xml.dom.minidom

from lib.suite import NEWEST, OLDEST, STANDARD, case

SUMMARY = re.compile(r"profiled [\d.]+ s on \d+ vCPUs?: (\d+) samples at the timer tick, \d+ % in programs")
CHAIN = ["main", *["nest"] * 21, "outer"]
LEAVES = ("spin_left", "spin_right")
READ = ["ksys_read_[k]", "vfs_read_[k]"]


def read_stacks(path):
    """Returns [(names, samples)] and removes the file."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    os.unlink(path)
    return [(line.rpartition(" ")[0].split(";"), int(line.rpartition(" ")[2])) for line in lines]


def count(stacks, has):
    return sum(nr for names, nr in stacks if has(names))


@case(configs=(STANDARD[0],), further=(OLDEST, *STANDARD[1:], NEWEST))
def flame_graph_of_a_program(t):
    """The stack of a program with frame pointers is exact, with the names of its functions and the kernel's, and the
    shares of its functions are as built. The picture is XML, and the probe is gone at the end."""
    path = f"/run/hvtrace-test/{t.name}.folded"
    picture = path.replace("folded", "svg")
    t.guest.run("frames 600 >/dev/null 2>&1 & dd if=/dev/zero of=/dev/null bs=16k >/dev/null 2>&1 & echo")
    try:
        with t.attach() as traced:
            shown = t.hv("profile", t.name, "--for=4s", "-o", path, timeout=300)
            stacks = read_stacks(path)
            assert not traced.text("kprobe_events"), traced.text("kprobe_events")
            t.hv("profile", t.name, "--for=2s", "--per=cpu", "-o", picture, timeout=300)
            assert "spin_left" in xml.dom.minidom.parse(picture).toxml()
            os.unlink(picture)
    finally:
        t.guest.run("kill $(pidof frames dd)")
    assert SUMMARY.match(shown), shown
    total = count(stacks, lambda names: names[0] == "frames")
    exact = count(stacks, lambda names: names[2:-1] == CHAIN and names[-1] in LEAVES)
    left = count(stacks, lambda names: names[-1] == LEAVES[0])
    assert total >= 20 and exact >= 0.85 * total, f"{exact} of {total} samples have the whole stack: {stacks}"
    assert 0.4 * exact <= left <= 0.9 * exact, f"{left} of {exact} samples are in the function that takes two thirds"
    copies = count(stacks, lambda names: names[0] == "dd")
    reads = count(stacks, lambda names: names[0] == "dd" and any(names[i : i + 2] == READ for i in range(len(names))))
    assert copies >= 20 and reads >= 0.2 * copies, f"{reads} of {copies} samples of dd are in read: {stacks}"
    t.note(f"{exact} of {total} samples have the whole stack, {left} in the function of two thirds; {reads} of {copies} in read")
