"""Injection: guests whose definition nobody prepared, machines that must not move meanwhile, and what
is refused. Every case on a booted guest ends with the proof of lib/suite.py."""

import contextlib
import glob
import json
import os
import re
import shutil
import socket
import subprocess
import time

from lib import ftrace, tool
from lib.channel import Channel
from lib.daemons import virsh
from lib.domain import RUN, Config, script
from lib.memory import Memory
from lib.suite import bad_dmesg, case

BARE = Config("bookworm", 2, shmem_mib=0, shared_ram=False)
BARE_NEW = Config("trixie", 2, shmem_mib=0, shared_ram=False)
SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"
ROUNDS = 200
PIN = "hvtrace-attached"


def trace_workload(traced, guest):
    """Number of events of vfs_* that one workload made; each round has one mkdir."""
    text, pid = ftrace.hvtrace_trace(traced, guest, ("syscalls", str(ROUNDS)), ("vfs_*",))
    events, lost = ftrace.parse(text)
    calls = [function for function, _ in ftrace.calls(events, pid)]
    assert lost == 0 and calls.count("vfs_mkdir") >= ROUNDS, f"{lost} lost, {calls.count('vfs_mkdir')} of vfs_mkdir"
    return len(events)


@case(configs=(BARE, BARE_NEW))
def unprepared_domain(t):
    """A libvirt domain with private RAM and no device of ours: attached without a word about how, twice."""
    said = json.loads(t.hv("check", "--json", t.name))
    assert said["traceable"] and "injected calls (libvirt), RAM copied" in said["transport"], said
    for _ in range(2):
        with t.attach() as traced:
            nr = trace_workload(traced, t.guest)
            holds = traced.stat()["holds"]
        t.note(f"{nr} events; {holds['count']} holds, longest {holds['max_ns'] / 1e6:.2f} ms")
    links = [os.readlink(link) for link in glob.glob(f"/proc/{t.guest.pid}/fd/*")]
    regions = [link for link in links if "hvtrace-region" in link]
    assert len(regions) == 1, f"the second attach did not find the first one's memory: {regions}"


def save(t, path):
    """libvirt's words when it does not save the domain; None when it did."""
    try:
        virsh("save", t.name, path)
    except Exception as error:  # noqa: BLE001 - lib/daemons.py does not say which
        return str(error)
    return None


@case(configs=(BARE,), fresh=True)
def moves_only_when_detached(t):
    """While all functions are traced QEMU neither migrates nor saves, not even when hvtrace was killed; after
    recover the saved guest runs on elsewhere, its text as it was before."""
    path = f"{t.guest.dir}/saved"
    memory = Memory(t.guest)
    before = memory.snapshot()
    t.guest.run("dmesg -c >/dev/null")
    memory.close()
    with t.attach() as traced:
        traced.echo("current_tracer", "function")
        assert PIN in (save(t, path) or "it was saved"), "save was not refused because of us"
        said = virsh("qemu-monitor-command", t.name, json.dumps({"execute": "query-migrate"}))
        assert PIN in said, said
        os.kill(traced.stat()["service_pid"], 9)
        time.sleep(0.5)
        assert PIN in (save(t, path) or "it was saved"), "save was not refused after hvtrace was killed"
        t.hv("recover", t.name)
        reason = save(t, path)
        assert reason is None, f"not saved after recover: {reason}"
        virsh("restore", path)
        t.guest.pid = t.guest._pid()  # noqa: SLF001
        t.guest.reopen_channel()
        t.hv("attach", t.name)
    memory = Memory(t.guest)
    bad, own = memory.compare(before, memory.snapshot())
    memory.close()
    assert not bad, bad[:4]
    assert t.guest.run("echo alive").strip() == "alive"
    assert not bad_dmesg(t.guest.run("dmesg")), bad_dmesg(t.guest.run("dmesg"))[:3]
    t.note(f"{len(own)} differences of the guest's own")
