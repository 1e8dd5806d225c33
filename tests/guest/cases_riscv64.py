# SPDX-License-Identifier: GPL-2.0-or-later
"""riscv64 guests on the machine virt, under TCG: what check finds, and what attach refuses by name."""

import hashlib
import json
import os
import re
import subprocess

from lib.domain import RISCV64_EMULATOR, Config
from lib.suite import Skip, bad_dmesg, case

# Debian has riscv64 kernels from trixie on.
RISCV64 = Config("forky", arch="riscv64")

# Symbols of modules that the kernel's look-ups pass over (is_mapping_symbol() in its module_symbol.h).
PASSED_OVER = re.compile(rb"^\S+ \S (\$|\.L|L0)")


def boot(t, config):
    if not os.access(RISCV64_EMULATOR, os.X_OK):
        raise Skip(f"no {RISCV64_EMULATOR} (package qemu-system-misc)")
    guest = t.lab.domain(config)
    guest.start()
    guest.run("dmesg -c >/dev/null")
    return guest


def probe(t, guest, option):
    """What the program kernel_probe prints."""
    path = os.path.join(os.path.dirname(t.hv.path), "..", "kernel", "kernel_probe")
    return subprocess.run([path, guest.name, option], capture_output=True, check=True, timeout=120).stdout


def digest(data):
    return hashlib.sha256(data).hexdigest()


def check_symbols(t, guest):
    """The channel is slow, so only a digest of the kernel's own is compared."""
    ours = probe(t, guest, "--kallsyms").splitlines(True)
    theirs = guest.run("grep -vF '[' /proc/kallsyms | sha256sum").split()[0]
    assert digest(b"".join(line for line in ours if b"[" not in line)) == theirs, "/proc/kallsyms differs"
    modules = guest.run_bytes("grep -F '[' /proc/kallsyms").splitlines(True)
    modules = [line for line in modules if not PASSED_OVER.match(line)]
    assert modules and sorted(line for line in ours if b"[" in line) == sorted(modules), "symbols of modules differ"


@case(configs=None)
def riscv64_check(t):
    """The kernel of a riscv64 guest: sites and symbols as the guest's own, modules, tasks. Attach refuses it by name."""
    guest = boot(t, RISCV64)
    try:
        guest.run("insmod /modules/dummy.ko")
        functions = guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions")
        status, out, _ = t.hv.run("check", "--json", guest.name)
        found = json.loads(out)
        assert status != 0 and not found["traceable"], out
        assert found["arch"] == "riscv64" and found["accel"] == "tcg", out
        assert found["release"] == guest.run("uname -r").strip(), found["release"]
        assert found["sites"]["total"] == functions.count(b"\n"), found["sites"]
        assert found["modules"] == 1 and found["btf_types"] and found["clock"] == "tsc", out
        assert found["blockers"] == ["function tracing of riscv64 guests is not there yet"], found["blockers"]
        mode = {3: "sv39", 4: "sv48", 5: "sv57"}[found["page_levels"]]
        assert f"{mode}\n" in guest.run("grep mmu /proc/cpuinfo"), mode
        assert probe(t, guest, "--sites") == functions, "available_filter_functions differ"
        check_symbols(t, guest)
        tasks = probe(t, guest, "--tasks").decode().splitlines()
        pids = {int(pid) for pid in guest.run("ls /proc | grep -x '[0-9]*'").split()}
        assert len(pids & {int(line.split()[0]) for line in tasks}) > len(pids) * 3 // 4, tasks
        t.hv.fails("attach", guest.name, says=[guest.name, "function tracing of riscv64 guests is not there yet"])
        assert guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions") == functions
        assert not bad_dmesg(guest.run("dmesg")), guest.run("dmesg")
        t.note(f"{found['release']}: {found['sites']['total']} sites, {mode}")
    finally:
        t.lab.drop(guest)
