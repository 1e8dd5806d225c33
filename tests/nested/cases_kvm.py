# SPDX-License-Identifier: GPL-2.0-or-later
"""Parts that are different on KVM: the transport, text written through the mapped RAM, flushes, the trace clock, and
exits. Every case ends with the proof of lib/suite.py, which includes the host's log."""

import ctypes
import json
import mmap
import os
import re
import time

from lib import ftrace, kvm
from lib.suite import STANDARD, Skip, case

BOTH = (STANDARD[0], STANDARD[2])
ROUNDS = 300


@case(configs=BOTH[:1])
def transport(t):
    """check shows KVM, injected calls, mapped RAM, and the guest's paravirtual clock."""
    said = json.loads(t.hv("check", "--json", t.name))
    assert said["accel"] == "kvm", said
    assert said["transport"] == "injected calls (libvirt), RAM mapped", said["transport"]
    assert said["clock"] == "pvclock", said["clock"]
    t.note(f"{said['page_levels']} levels, {said['sites']['total']} sites")


@case(configs=BOTH)
def functions_of_a_workload(t):
    """vfs_* of one task: the expected number of calls for its rounds, ordered by time."""
    with t.attach() as traced:
        text, pid = ftrace.hvtrace_trace(traced, t.guest, ("syscalls", str(ROUNDS)), ("vfs_*",))
        stat = traced.stat()
    events, lost = ftrace.parse(text)
    assert lost == 0, f"{lost} events lost"
    assert {e.pid for e in events} == {pid}, f"tasks {sorted({e.pid for e in events})[:5]}"
    calls = [function for function, _ in ftrace.calls(events, pid)]
    for function, each in (("vfs_read", 2), ("vfs_write", 1), ("vfs_open", 1), ("vfs_mkdir", 1), ("vfs_rmdir", 1)):
        got = calls.count(function)
        assert each * ROUNDS <= got <= each * ROUNDS + 8, f"{got} calls of {function} in {ROUNDS} rounds"
    times = [e.time for e in events]
    assert times == sorted(times), "not in time order"
    t.note(f"{len(events)} events; {stat_line(stat)}")


def stat_line(stat):
    holds = stat["holds"]
    return f"{holds['count']} holds, longest {holds['max_ns'] / 1e6:.1f} ms"


@case(configs=BOTH[:1])
def by_the_monitor(t):
    """As above, through the ivshmem device and the gdb stub, on request. recover must handle a killed attach, although
    by default it would use another region."""
    with t.attach("--via=monitor") as traced:
        text, pid = ftrace.hvtrace_trace(traced, t.guest, ("syscalls", str(ROUNDS)), ("vfs_*",))
        stat = traced.stat()
        assert "monitor (libvirt)" in stat["transport"] and "ivshmem 64 MiB" in stat["transport"], stat["transport"]
        events, lost = ftrace.parse(text)
        calls = [function for function, _ in ftrace.calls(events, pid)]
        assert lost == 0 and calls.count("vfs_mkdir") >= ROUNDS, f"{lost} lost, {calls.count('vfs_mkdir')} calls"
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        traced.kill()
        said = t.recover()
        assert "sites restored" in said, said
        t.hv("attach", t.name)
    t.note(f"{len(events)} events; {stat_line(stat)}")


@case(configs=BOTH)
def trace_clock_is_the_guests(t):
    """An entry that the guest writes into its own trace has a time between the times of the events around it."""
    nr = 40
    t.guest.run(
        "cd /sys/kernel/tracing && cat trace_clock | grep -q '\\[local\\]' && echo >trace; "
        "printf 'i=0; while [ $i -lt %d ]; do echo mark $i >/sys/kernel/tracing/trace_marker; "
        "[ $i != %d ] || taskset -p 2 $$ >/dev/null; i=$((i+1)); done' >/tmp/marks" % (nr, nr // 2)
    )
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_write", "filp_close")
        traced.echo("current_tracer", "function")
        t.guest.run("taskset 1 sh /tmp/marks")
        time.sleep(2.5)  # hvtrace reads the clock's parameters again in this time
        t.guest.run("sed 's/mark/later/' /tmp/marks >/tmp/later; taskset 1 sh /tmp/later")
        events, _ = ftrace.parse(traced.text("trace"))
    own = t.guest.run("cat /sys/kernel/tracing/trace; echo >/sys/kernel/tracing/trace")
    marks = re.findall(r"-(\d+)\s+\[(\d+)\] \S+\s+(\d+\.\d+): tracing_mark_write: \w+ \d+", own)
    assert len(marks) == 2 * nr, f"{len(marks)} marks in the guest's own trace"
    before, after = [], []
    for pid, cpu, stamp in marks:
        mine = [e for e in events if e.pid == int(pid) and ftrace.in_task(e)]
        # both are printed in whole microseconds
        entered = [e for e in mine if e.function == "vfs_write" and e.time <= float(stamp) + 1.5e-6]
        left = [e for e in mine if e.function == "filp_close" and entered and e.time > entered[-1].time]
        assert entered and left, f"no events around the mark at {stamp}"
        assert entered[-1].cpu == int(cpu), f"mark on CPU {cpu}, event on {entered[-1].cpu}"
        before.append(float(stamp) - entered[-1].time)
        after.append(left[0].time - float(stamp))
    assert min(after) > -1.5e-6, f"a mark {-min(after)} s after the filp_close that follows it"
    before.sort()
    after.sort()
    middle = before[nr], after[nr]
    assert max(middle) < 0.001, f"medians {middle} s from vfs_write to the mark, from the mark to filp_close"
    cpus = len({cpu for _, cpu, _ in marks})
    t.note(f"{len(marks)} marks on {cpus} CPUs: {middle[0] * 1e6:.0f} us after vfs_write, "
           f"{middle[1] * 1e6:.0f} us before filp_close (medians), least {before[0] * 1e6:.0f} and {after[0] * 1e6:.0f}")  # fmt: skip


@case(configs=BOTH[:1])
def all_sites_on_and_off_on_kvm(t):
    """All sites are switched on and off twice during a storm of forks, written through the mapped RAM."""
    with t.attach() as traced:
        pid = ftrace.start_workload(t.guest, "forkstorm", 100000)
        t.guest.run(f"kill -USR1 {pid}")
        try:
            seconds = []
            for _ in range(2):
                for tracer in ("function", "nop"):
                    start = time.monotonic()
                    traced.echo("current_tracer", tracer, timeout=100)
                    seconds.append(f"{tracer} {time.monotonic() - start:.1f} s")
                    time.sleep(0.3)
                    t.guest.run("cat /proc/uptime")
            stat = traced.stat()
        finally:
            t.guest.run("killall -9 workload")
    t.note(f"{', '.join(seconds)}; {stat_line(stat)}")


def busy(t, traced, nr):
    """Returns (KVM's counters, seconds, events) of one fixed piece of work in the guest."""
    pid = ftrace.start_workload(t.guest, "syscalls", str(nr))
    events = traced.stat()["events"]
    before, start = kvm.stats(t.guest.pid), time.monotonic()
    ftrace.go(t.guest, pid, timeout=240)
    spent = time.monotonic() - start
    counted = kvm.difference(before, kvm.stats(t.guest.pid))
    return counted, spent, traced.stat()["events"] - events


def median(values):
    return sorted(values)[len(values) // 2]


def untraced_and_traced(t, traced, sites, work, pairs=3):
    """Returns medians for constant work with patched sites, compared with unpatched ones: (additional exits, how many
    of these are stage-2 faults, events).

    The guest's ticks cause exits, too, so the exits of untraced work are scaled to the time of traced work."""
    more, faults, events = [], [], []
    traced.echo("set_ftrace_filter", sites)
    for _ in range(pairs):
        before, before_seconds, _ = busy(t, traced, work)
        traced.echo("current_tracer", "function")
        counted, seconds, nr = busy(t, traced, work)
        traced.echo("current_tracer", "nop")
        ticks = before["exits"] * max(1, seconds / before_seconds)
        more.append(round(counted["exits"] - ticks))
        faults.append(counted["pf_taken"] - before["pf_taken"])
        events.append(nr)
        t.note(f"{sites or 'all sites':9} {before_seconds:.2f} s {before['exits']} exits untraced; "
               f"{seconds:.2f} s {nr} events: {kvm.in_words(counted)}")  # fmt: skip
    return median(more), median(faults), median(events)


def region_kib(pid):
    """Returns how much of the region a process has mapped, and how much of that with huge pages."""
    found, ours = {"Rss:": 0, "ShmemPmdMapped:": 0}, False
    with open(f"/proc/{pid}/smaps", encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if "-" in words[0]:
                ours = "hvtrace-region" in line
            elif ours and words[0] in found:
                found[words[0]] += int(words[1])
    return tuple(found.values())


def makes_huge_pages():
    """Returns whether this host's kernel uses huge pages for a file's memory on request, as attach requests it."""
    libc, size = ctypes.CDLL(None), 2 << 20
    libc.mmap.restype = ctypes.c_void_p
    fd = os.memfd_create("huge")
    os.ftruncate(fd, size)
    room = libc.mmap(None, 2 * size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    at = ctypes.c_void_p((room + size - 1) & -size)
    fixed = 0x10
    libc.mmap(at, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | fixed, fd, 0)
    ctypes.memset(at, 1, 1)
    collapse = 25
    made = libc.madvise(at, size, collapse) == 0
    libc.munmap(ctypes.c_void_p(room), 2 * size)
    os.close(fd)
    return made


@case(configs=BOTH[:1])
def tracing_causes_no_exits(t):
    """An event causes no exit. Compares KVM's counters of untraced and traced work, in pairs, after each page of the
    rings was touched once."""
    at = kvm.stats(t.guest.pid)
    if not at:
        raise Skip("KVM's statistics are not in debugfs")
    with t.attach() as traced:
        t.note(f"attach: {kvm.in_words(kvm.difference(at, kvm.stats(t.guest.pid)))}")
        traced.echo("current_tracer", "function")
        counted, _, events = busy(t, traced, 2000)
        traced.echo("current_tracer", "nop")
        mapped, huge = region_kib(traced.stat()["service_pid"])
        t.note(f"first lap of the rings: {events} events, {kvm.in_words(counted)}; the service has mapped {mapped} KiB of the region, "
               f"{huge} of them with huge pages, and QEMU {region_kib(t.guest.pid)}")
        if makes_huge_pages():
            assert mapped == huge > 0, f"only {huge} of {mapped} KiB of the region are mapped with huge pages"
            assert counted["pf_taken"] < 1000, f"{counted['pf_taken']} stage-2 faults, in spite of huge pages"
        for sites in ("vfs_*", ""):
            more, faults, events = untraced_and_traced(t, traced, sites, 500)
            t.note(f"{sites or 'all sites'}: {more} more exits for {events} events, {faults} of them stage-2 faults (medians)")
            assert events > 2500, f"only {events} events"
            assert faults <= 64, f"{sites or 'all sites'}: {faults} more stage-2 faults than untraced"
        assert more < events / 500, f"{more} more exits than untraced, for {events} events"
        at = kvm.stats(t.guest.pid)
    ftrace.go(t.guest, ftrace.start_workload(t.guest, "syscalls", 10))  # an idle vCPU flushes only when it runs
    detach = kvm.difference(at, kvm.stats(t.guest.pid))
    t.note(f"detach: {kvm.in_words(detach)}")
    assert detach["tlb_flush"] >= t.guest.config.vcpus, f"detach flushed no translations: {detach}"
