# SPDX-License-Identifier: GPL-2.0-or-later
"""arm64 guests on the machine virt, under TCG: what check finds, and that attach refuses them by name."""

import hashlib
import json
import os
import subprocess

from lib.domain import ARM64_EMULATOR, Config
from lib.suite import Skip, bad_dmesg, case

# Debian's bookworm is not here: its arm64 kernel has no CONFIG_KALLSYMS_ALL.
ARM64 = Config("trixie", arch="arm64")


def boot(t, config):
    if not os.access(ARM64_EMULATOR, os.X_OK):
        raise Skip(f"no {ARM64_EMULATOR} (package qemu-system-arm)")
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


@case(configs=None)
def arm64_check(t):
    """The kernel of an arm64 guest: sites and symbols as the guest's own, modules, tasks; attach refuses, nothing changes."""
    guest = boot(t, ARM64)
    try:
        guest.run("insmod /modules/dummy.ko")
        functions = guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions")
        status, out, _ = t.hv.run("check", "--json", guest.name)
        found = json.loads(out)
        assert status == 1 and not found["traceable"], out
        assert found["arch"] == "aarch64" and found["accel"] == "tcg", out
        assert found["release"] == guest.run("uname -r").strip(), found["release"]
        assert found["sites"]["total"] == functions.count(b"\n"), found["sites"]
        assert found["modules"] == 1 and found["btf_types"] and found["clock"] == "tsc", out
        assert len(found["blockers"]) == 1, found["blockers"]
        assert probe(t, guest, "--sites") == functions, "available_filter_functions differ"
        # The channel is slow, so only a digest of the kernel's own. Of modules the kernel's look-ups pass over $x and $d.
        ours = probe(t, guest, "--kallsyms").splitlines(True)
        theirs = guest.run("grep -vF '[' /proc/kallsyms | sha256sum").split()[0]
        assert digest(b"".join(line for line in ours if b"[" not in line)) == theirs, "/proc/kallsyms differs"
        modules = guest.run_bytes("grep -F '[' /proc/kallsyms | grep -vF '$'").splitlines(True)
        assert sorted(line for line in ours if b"[" in line) == sorted(modules), "symbols of modules differ"
        tasks = probe(t, guest, "--tasks").decode().splitlines()
        pids = {int(pid) for pid in guest.run("ls /proc | grep -x '[0-9]*'").split()}
        assert len(pids & {int(line.split()[0]) for line in tasks}) > len(pids) * 3 // 4, tasks
        t.hv.fails("attach", guest.name, says=[guest.name, "function tracing of aarch64 guests is not there yet"])
        assert guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions") == functions
        assert not bad_dmesg(guest.run("dmesg")), guest.run("dmesg")
        t.note(f"{found['release']}: {found['sites']['total']} sites, {found['page_levels']} levels of page tables")
    finally:
        t.lab.drop(guest)


@case(configs=None)
def arm64_without_symbols(t):
    """A kernel that has only the names of functions in memory: check says what it lacks."""
    guest = boot(t, Config("bookworm", arch="arm64", shmem_mib=0, vcpus=1))
    try:
        out = t.hv.run("check", guest.name)[1].decode()
        assert "CONFIG_KALLSYMS_ALL" in out and "aarch64" in out, out
        guest.run("true")
    finally:
        t.lab.drop(guest)


@case(configs=None)
def arm64_pages_of_16_kib(t):
    """Another format of page tables, KPTI, and vCPUs that are busy in user mode: the kernel is found each time."""
    guest = boot(t, Config("trixie:linux-image-arm64-16k", arch="arm64", cmdline="kpti=1", modules=()))
    try:
        total = int(guest.run("wc -l </sys/kernel/tracing/available_filter_functions"))
        for _ in range(guest.config.vcpus):
            guest.run("while :; do :; done >/dev/null 2>&1 &")
        for _ in range(8):
            found = json.loads(t.hv.run("check", "--json", guest.name)[1])
            assert found["kpti"] and found["sites"]["total"] == total, found
        t.note(f"{found['release']}: {total} sites, {found['page_levels']} levels of page tables")
    finally:
        t.lab.drop(guest)
