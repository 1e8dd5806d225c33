"""What is different on KVM: the transport, text written through the mapped RAM, flushes, the trace
clock, and the exits. Every case ends with the proof of lib/suite.py; the host's own log is looked at
here."""

import glob
import json
import os
import re
import signal
import subprocess
import time

from lib import ftrace
from lib.suite import STANDARD, bad_dmesg, case

BOTH = (STANDARD[0], STANDARD[2])
EXITS = ("exits", "io_exits", "mmio_exits", "irq_exits", "halt_exits", "signal_exits", "tlb_flush", "pf_taken")
ROUNDS = 300


def host_log():
    """The host's kernel log; empty where it may not be read."""
    return subprocess.run(["dmesg"], capture_output=True, text=True, check=False).stdout


class HostLog:
    """`with HostLog():` fails when the host's kernel complained meanwhile."""

    def __enter__(self):
        self.before = set(host_log().splitlines())

    def __exit__(self, kind, _value, _trace):
        new = [line for line in host_log().splitlines() if line not in self.before]
        if kind is None and bad_dmesg("\n".join(new)):
            raise AssertionError(f"the host's dmesg: {bad_dmesg(chr(10).join(new))[:3]}")


def kvm_stats(guest):
    """KVM's own counters of this machine, by debugfs."""
    (place,) = glob.glob(f"/sys/kernel/debug/kvm/{guest.pid}-*")
    stats = {}
    for name in EXITS:
        with open(os.path.join(place, name), encoding="ascii") as file:
            stats[name] = int(file.read())
    return stats


def difference(before, after):
    return {name: after[name] - before[name] for name in before}


def in_words(stats):
    return ", ".join(f"{value} {name}" for name, value in stats.items() if value)


@case(configs=BOTH[:1])
def transport(t):
    """check says KVM, injected calls, mapped RAM, and the guest's paravirtual clock."""
    said = json.loads(t.hv("check", "--json", t.name))
    assert said["accel"] == "kvm", said
    assert said["transport"] == "injected calls (libvirt), RAM mapped", said["transport"]
    assert said["clock"] == "pvclock", said["clock"]
    t.note(f"{said['page_levels']} levels, {said['sites']['total']} sites")


@case(configs=BOTH)
def functions_of_a_workload(t):
    """vfs_* of one task: as many calls of each as its rounds make, in time order."""
    with HostLog(), t.attach() as traced:
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
    """The same on request through the ivshmem device and the gdb stub. An attach that was killed is recovered,
    although by default another region would be looked at."""
    with HostLog(), t.attach("--via=monitor") as traced:
        text, pid = ftrace.hvtrace_trace(traced, t.guest, ("syscalls", str(ROUNDS)), ("vfs_*",))
        stat = traced.stat()
        assert "monitor (libvirt)" in stat["transport"] and "ivshmem 64 MiB" in stat["transport"], stat["transport"]
        events, lost = ftrace.parse(text)
        calls = [function for function, _ in ftrace.calls(events, pid)]
        assert lost == 0 and calls.count("vfs_mkdir") >= ROUNDS, f"{lost} lost, {calls.count('vfs_mkdir')} calls"
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        os.kill(stat["service_pid"], signal.SIGKILL)
        time.sleep(1)
        said = t.hv("recover", t.name)
        assert "sites restored" in said, said
        t.hv("attach", t.name)
    t.note(f"{len(events)} events; {stat_line(stat)}")


@case(configs=BOTH)
def trace_clock_is_the_guests(t):
    """What the guest writes into its own trace lies, by its time stamps, between our events around it."""
    nr = 40
    t.guest.run(
        "cd /sys/kernel/tracing && cat trace_clock | grep -q '\\[local\\]' && echo >trace; "
        "printf 'i=0; while [ $i -lt %d ]; do echo mark $i >/sys/kernel/tracing/trace_marker; "
        "[ $i != %d ] || taskset -p 2 $$ >/dev/null; i=$((i+1)); done' >/tmp/marks" % (nr, nr // 2)
    )
    with HostLog(), t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_write", "filp_close")
        traced.echo("current_tracer", "function")
        t.guest.run("taskset 1 sh /tmp/marks")
        time.sleep(2.5)  # the clock's parameters are read again meanwhile
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
    """Every site at once under a storm of forks, off, on, off: written through the mapped RAM."""
    with HostLog(), t.attach() as traced:
        t.guest.run("workload forkstorm 100000 >/tmp/storm 2>&1 & sleep 0.3; killall -USR1 workload")
        try:
            seconds = []
            for _ in range(2):
                for tracer in ("function", "nop"):
                    start = time.monotonic()
                    traced.echo("current_tracer", tracer, timeout=100)
                    seconds.append(f"{tracer} {time.monotonic() - start:.1f} s")
                    time.sleep(0.3)
                    assert "pid" in t.guest.run("cat /tmp/storm")
            stat = traced.stat()
        finally:
            t.guest.run("killall -9 workload")
    t.note(f"{', '.join(seconds)}; {stat_line(stat)}")


def busy(t, traced, nr):
    """(KVM's counters, seconds, events) of one fixed piece of work in the guest."""
    pid = ftrace.start_workload(t.guest, "syscalls", str(nr))
    events = traced.stat()["events"] if traced else 0
    before, start = kvm_stats(t.guest), time.monotonic()
    ftrace.go(t.guest, pid, timeout=120)
    spent = time.monotonic() - start
    stats = difference(before, kvm_stats(t.guest))
    return stats, spent, (traced.stat()["events"] - events if traced else 0)


@case(configs=BOTH[:1])
def tracing_causes_no_exits(t):
    """KVM's counters of the same work untraced and traced: an event is no exit."""
    if not glob.glob(f"/sys/kernel/debug/kvm/{t.guest.pid}-*"):
        subprocess.run(["mount", "-t", "debugfs", "none", "/sys/kernel/debug"], check=False)
    work = 2000
    rows = [("untraced", *busy(t, None, work))]
    at = kvm_stats(t.guest)
    with HostLog(), t.attach() as traced:
        attach = difference(at, kvm_stats(t.guest))
        rows.append(("attached", *busy(t, traced, work)))
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        rows.append(("vfs_*", *busy(t, traced, work)))
        traced.echo("set_ftrace_filter", "")
        rows.append(("all sites", *busy(t, traced, work)))
        traced.echo("current_tracer", "nop")
        at = kvm_stats(t.guest)
    detach = difference(at, kvm_stats(t.guest))
    rows.append(("detached", *busy(t, None, work)))
    flushed = difference(at, kvm_stats(t.guest))  # an idle vCPU flushes when it next runs
    for name, stats, spent, events in rows:
        t.note(f"{name:9} {spent:5.2f} s {events:8} events: {in_words(stats)}")
    t.note(f"attach: {in_words(attach)}")
    t.note(f"detach: {in_words(detach)}")
    assert flushed["tlb_flush"] >= t.guest.config.vcpus, f"detach flushed no translations: {flushed}"
    untraced = max(stats["exits"] for name, stats, _, _ in rows if name in ("untraced", "attached", "detached"))
    for name, stats, _, events in rows[2:4]:
        assert events > 5 * work, f"{name}: only {events} events"
        more = stats["exits"] - untraced
        assert more < events / 5, f"{name}: {more} exits more than untraced, for {events} events"
