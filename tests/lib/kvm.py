"""What KVM counts of a machine, and what the host's kernel said meanwhile.

Needs debugfs (mounted here when it is not). Leaves to others: what the figures must be (tests/nested)."""

import glob
import os
import subprocess

DEBUGFS = "/sys/kernel/debug"
SHOWN = ("exits", "io_exits", "mmio_exits", "irq_exits", "halt_exits", "signal_exits", "tlb_flush", "pf_taken")


def log():
    """The host's kernel log; empty where it may not be read."""
    return subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout


def stats(pid):
    """{counter: value} of the machine of a VMM's process; {} where KVM runs no machine in it."""
    if os.path.isdir(DEBUGFS) and not os.path.isdir(f"{DEBUGFS}/kvm") and os.geteuid() == 0:
        subprocess.run(["mount", "-t", "debugfs", "none", DEBUGFS], capture_output=True, check=False)
    counted = {}
    for path in glob.glob(f"{DEBUGFS}/kvm/{pid}-*/*"):
        if os.path.isfile(path):
            try:
                with open(path, encoding="ascii") as file:
                    counted[os.path.basename(path)] = int(file.read())
            except (OSError, ValueError):
                continue  # not a counter
    return counted


def difference(before, after):
    return {name: after[name] - before[name] for name in before if name in after}


def in_words(counted, names=SHOWN):
    return ", ".join(f"{counted[name]} {name}" for name in names or counted if counted.get(name))


class Record:
    """A machine's counters and the host's log, from here on."""

    def __init__(self, pid):
        self.pid = pid
        self.before = stats(pid)
        self.lines = set(log().splitlines()) if self.before else set()

    def new_lines(self):
        return [line for line in log().splitlines() if line not in self.lines]

    def describe(self):
        """[lines] for a report of what went wrong; none where KVM runs no such machine."""
        if not self.before:
            return []
        counted = difference(self.before, stats(self.pid))
        return [f"KVM counted since the case began: {in_words(counted, None) or 'nothing'}",
                *(f"host dmesg: {line}" for line in self.new_lines()[-20:])]  # fmt: skip
