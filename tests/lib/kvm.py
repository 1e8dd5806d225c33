# SPDX-License-Identifier: GPL-2.0-or-later
"""KVM's counters of a machine, and new lines of the host's kernel log.

Needs debugfs, and mounts it if it is not mounted. tests/nested checks the numbers."""

import contextlib
import glob
import os
import re
import subprocess
import time

DEBUGFS = "/sys/kernel/debug"
TRACING = "/sys/kernel/tracing"
ENTER_SECONDS = 0.3
SHOWN_PLACES = 8
ENTERING = ("__svm_vcpu_run", "__vmx_vcpu_run")  # functions of KVM that enter a guest
HOST_IN_GUEST = "(in {} of the host: the emulator that runs this host gave the guest the host's registers, docs/internals/testing.md)"
SHOWN = ("exits", "io_exits", "mmio_exits", "irq_exits", "halt_exits", "signal_exits", "tlb_flush", "pf_taken")


def log():
    """Returns the host's kernel log, or nothing if reading is not permitted."""
    return subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout


def stats(pid):
    """Returns {counter: value} for the machine of a VMM's process, or {} if KVM runs no machine in it."""
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


def entered():
    """Traces KVM for ENTER_SECONDS. Returns the set of addresses at which vCPUs enter guests; empty if unavailable."""
    instance = f"{TRACING}/instances/hvtrace-test-{os.getpid()}"
    try:
        os.mkdir(instance)
    except OSError:
        return set()
    try:
        with open(f"{instance}/events/kvm/kvm_entry/enable", "w", encoding="ascii") as file:
            file.write("1")
        time.sleep(ENTER_SECONDS)
        with open(f"{instance}/trace", encoding="ascii", errors="replace") as file:
            return {int(rip, 16) for rip in re.findall(r"kvm_entry: .*?rip (0x[0-9a-f]+)", file.read())}
    except OSError:
        return set()
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(instance)


def whereabouts():
    """Describes where vCPUs enter guests. Marks addresses in the host function that enters guests: no guest has code
    there."""
    places = {}
    with open("/proc/kallsyms", encoding="ascii") as file:
        text = sorted((int(words[0], 16), words[2]) for words in map(str.split, file) if words[1] in "tT" and len(words) == 4)
    for (start, name), (end, _next) in zip(text, text[1:]):
        if name in ENTERING:
            places[name] = range(start, end)
    found = []
    for rip in sorted(entered())[:SHOWN_PLACES]:
        inside = [HOST_IN_GUEST.format(name) for name, place in places.items() if rip in place]
        found.append(" ".join([f"{rip:#x}", *inside]))
    return f"KVM enters vCPUs at: {', '.join(found) or 'nothing seen'}"


class Record:
    """Changes of a machine's counters, and new lines of the host's log."""

    def __init__(self, pid):
        self.pid = pid
        self.before = stats(pid)
        self.lines = set(log().splitlines()) if self.before else set()

    def new_lines(self):
        return [line for line in log().splitlines() if line not in self.lines]

    def describe(self):
        """Returns [lines] for a failure report; empty if KVM does not run such a machine."""
        if not self.before:
            return []
        counted = difference(self.before, stats(self.pid))
        return [f"KVM counted since the case began: {in_words(counted, None) or 'nothing'}",
                *(f"host dmesg: {line}" for line in self.new_lines()[-20:])]  # fmt: skip
