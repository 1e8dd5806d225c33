# SPDX-License-Identifier: GPL-2.0-or-later
"""hvtrace latency: planted stalls of each kind. The first cause must be the planted one, with the right fault."""

import contextlib
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
import time

from cases_latency import load_planted
from lib.domain import Config
from lib.process import vcpu_thread
from lib.suite import KERNELS, case
from lib.wait import HANG_SECONDS

# An instruction takes a nanosecond there, so the host does not make stalls longer: lengths are exact. These cases use
# separate guests because the module of cases_latency.py uses tracepoints that are needed here.
COUNTED = [Config(kernel, 1, counted=True, cmdline="audit=0") for kernel in KERNELS]
GUEST = (Config(KERNELS[0], 2),)
DISK = (Config(KERNELS[0], 2, disk_mib=64),)
PRESSED = (Config(KERNELS[0], 1, counted=True, disk_mib=128, cmdline="audit=0 psi=1"),)
SWAPPED = (Config(KERNELS[0], 2, disk_mib=128, cmdline="delayacct"),)
READS = 278000  # of the clock, which take 20 ms
BUSY = "timeout 600 taskset 1 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!"


def measure(t, traced, plant, *words, until_planted=False, calls=None):
    """Runs hvtrace latency, and PLANT while it measures. Returns its verdict. UNTIL_PLANTED: it measures until PLANT
    ends. CALLS: a list that receives the longest calls."""
    process = t.hv.start("latency", "--json", *words, traced.domain)
    try:
        line = process.stderr.readline().decode()
        assert "measuring" in line or "waiting" in line, line
        plant()
        if until_planted:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG_SECONDS)
    finally:
        process.kill()
    assert process.returncode == 0, err.decode()
    found = json.loads(out)
    for cause in found["verdict"][:3]:
        t.note(f"{cause['text']}: {cause['longest_ns'] / 1e6:.1f} ms, {cause['fault']}")
    for gap in found["gaps"]:
        t.note(gap)
    if calls is not None:
        calls += found["calls"]["longest"]
    return found["verdict"]


def first(verdict, cause, fault, ms):
    """The first cause must be CAUSE, with a length of MS +/- 10 %, and FAULT."""
    assert verdict, "no cause was found"
    one = verdict[0]
    assert (one["cause"], one["fault"]) == (cause, fault), verdict
    assert ms is None or abs(one["longest_ns"] / 1e6 - ms) <= ms / 10, verdict
    return one


@dataclasses.dataclass(frozen=True)
class Stall:
    """A stall that the test module makes, and the expected verdict."""

    command: str  # in the guest; prints its duration by the guest's own clock
    cause: str
    fault: str
    function: str = ""  # where a section begins and ends
    chosen: tuple = ()  # functions for -l, innermost first


STALLS = {
    "interrupts off": Stall(f"planted cli {READS}", "irqs-off", "tenant-kernel", "plant_cli"),
    "spin lock": Stall(f"planted spin_lock {READS}", "irqs-off", "tenant-kernel", "plant_spin_lock"),
    "mutex": Stall("planted mutex 300 >/dev/null & until grep -q mutex /proc/planted || [ ! -d /proc/$! ]; do :; done; planted wait 0", "lock", "tenant-kernel"),
    "slow function": Stall(f"planted slow {10 * READS}", "system-call", "tenant-kernel", chosen=("param_attr_store", "vfs_write", "ksys_write")),
}


def load_plants(t):
    load_planted(t, "tracepoints=0")  # latency needs the scheduler's tracepoints


def measure_stall(t, traced, stall):
    """Returns the verdict, and the duration of the planted stall in milliseconds."""
    said, calls = [], [] if stall.chosen else None
    words = [word for function in stall.chosen for word in ("-l", function)]
    verdict = measure(t, traced, lambda: said.append(t.guest.run(stall.command)), "--watch", *words, calls=calls)
    ms = int(said[0].split()[1]) / 1e6
    if stall.chosen:
        found = next(call for call in calls if call["function"] == stall.chosen[0])
        t.note(f"{found['function']}: {found['longest_ns'] / 1e6:.1f} ms, in {' <- '.join(found['callers'])}")
        assert found["task"]["comm"] == "planted" and abs(found["longest_ns"] / 1e6 - ms) <= ms / 10, calls
        assert tuple(found["callers"]) == stall.chosen[1:], calls
    return verdict, ms


def names(t, stall):
    load_plants(t)
    with t.attach() as traced:
        verdict, ms = measure_stall(t, traced, stall)
        one = first(verdict, stall.cause, stall.fault, ms)
        assert one["task"]["comm"] == "planted" and one["before"], one
        t.note("before: " + ", ".join(f"{before['task']['comm'] or '<idle>'} {before['ns'] / 1e6:.1f} ms" for before in one["before"]))
        assert not stall.function or one["function"] == one["from"] == stall.function, one
        return one


@case(configs=COUNTED[:1])
def latency_names_interrupts_off(t):
    """Interrupts off for 20 ms: the tenant's kernel, with the function and the length."""
    names(t, STALLS["interrupts off"])


@case(configs=COUNTED[:1], sanitized=True)
def latency_names_a_spin_lock(t):
    """A spin lock held for 20 ms: the tenant's kernel, with the function and the length."""
    names(t, STALLS["spin lock"])


@case(configs=COUNTED[:1])
def latency_names_a_mutex(t):
    """A task sleeps while it holds a lock that another task waits for: the tenant's kernel, with the waiting
    function."""
    one = names(t, STALLS["mutex"])
    assert one["function"].startswith("__mutex_lock") and "param_attr_store" in one["callers"], one


@case(configs=COUNTED[:1])
def latency_names_a_slow_function(t):
    """A function below a write to a file takes 200 ms, with nothing switched off: the tenant's kernel. Samples of the
    timer name the function that takes the time, and its caller, which is in the module."""
    one = names(t, STALLS["slow function"])
    assert one["samples"]["taken"] > 20 and one["samples"]["in_function"] > one["samples"]["taken"] / 3, one
    assert "read_clock" in [one["function"], *one["callers"]], one
    t.note(f"{one['samples']['in_function']} of {one['samples']['taken']} samples in {' <- '.join([one['function'], *one['callers']])}")


@case(configs=COUNTED[1:], further=COUNTED[:1])
def latency_names_the_starving_task(t):
    """A real-time task keeps another task from its vCPU for 300 ms: the tenant's program, with its function."""
    with t.attach() as traced:
        # On a busy host hvtrace reads the samples late. A task that has ended by then has no names.
        try:
            verdict = measure(t, traced, lambda: t.guest.run("workload stay 300 >/dev/null 2>&1 & echo"), "--watch")
        finally:
            t.guest.run("kill $(pidof workload)")
        one = first(verdict, "run-queue", "tenant-program", 300)
        assert one["by"]["comm"] == "greedy", one
        program = one["program"]
        assert (program["function"], program.get("file")) == ("hog", "/bin/workload"), one
        assert program["samples"] >= 4 and 2 * program["in_function"] > program["samples"], one
        t.note(f"{program['in_function']} of {program['samples']} samples in {program['function']} of {program['file']}")
        assert traced.text("kprobe_events") == "", traced.text("kprobe_events")
        t.note(f"{one['task']['comm']} in {' <- '.join([one.get('function', '?'), *one.get('callers', [])])}")


@case(configs=COUNTED[:1])
def latency_of_a_quiet_guest(t):
    """A quiet guest has no cause, and the session records as before."""
    with t.attach() as traced:
        verdict = measure(t, traced, lambda: t.guest.run("cat /proc/uptime"), "--for=5s")
        assert not verdict, verdict
        assert traced.text("tracing_on") == "1\n"


CGROUP = "/tmp/cgroup/pressed"


@contextlib.contextmanager
def pressed(t, mib, mode="pressure"):
    """A program that touches MIB of memory, more than its group may have; the rest is swapped. Yields its pid; SIGUSR1
    starts it."""
    t.guest.run("mkswap /dev/nvme0n1 >/dev/null && swapon /dev/nvme0n1 && mkdir /tmp/cgroup && mount -t cgroup2 none /tmp/cgroup")
    t.guest.run(f"echo +memory >/tmp/cgroup/cgroup.subtree_control; mkdir {CGROUP}; echo 16M >{CGROUP}/memory.max")
    t.guest.run(f"(echo 0 >{CGROUP}/cgroup.procs; exec workload {mode} {mib}) >/tmp/pressed 2>&1 &")
    try:
        yield t.guest.run("while ! grep -q pid /tmp/pressed; do sleep 0.1; done; cat /tmp/pressed").split()[1]
    finally:
        t.guest.run(f"kill $(cat {CGROUP}/cgroup.procs) 2>/dev/null; until rmdir {CGROUP} 2>/dev/null; do sleep 0.1; done; swapoff /dev/nvme0n1")
        t.guest.run("umount /tmp/cgroup; rmdir /tmp/cgroup; rm /tmp/pressed")


def press(t, pid):
    """Starts the program of pressed(), and waits until it has done its work. If the swap disk is slow, the kernel may
    kill the program: the test must report that, and not hang or measure a stall."""
    ended = f"[ ! -d /proc/{pid} ] || grep -q done /tmp/pressed"
    said = t.guest.run(f"kill -USR1 {pid}; until {ended}; do sleep 0.1; done; cat /tmp/pressed; cat {CGROUP}/memory.events; dmesg | tail -n 5")
    assert "done" in said, f"the program under pressure was killed: {said}"


def measure_pressure(t, traced, pid):
    """Returns the verdict, and how many milliseconds the group's tasks waited for memory according to the guest."""
    verdict = measure(t, traced, lambda: press(t, pid), "--watch")
    stalled = t.guest.run(f"cat {CGROUP}/memory.pressure")
    ms = int(re.search(r"some .* total=(\d+)", stalled)[1]) / 1000
    t.note(f"{ms:.1f} ms in {CGROUP}/memory.pressure")
    return verdict, ms


@case(configs=PRESSED, alone=True)
def latency_names_memory_pressure(t):
    """A program touches more memory than its group may have: reclaim, the tenant's program, with the duration of the
    guest's own counter; not the swap disk. On a busy host a disk request may be slow, too."""
    with pressed(t, 60) as pid, t.attach() as traced:
        verdict, ms = measure_pressure(t, traced, pid)
        one = first(verdict, "reclaim", "tenant-program", ms)
        assert one["task"] == {"pid": int(pid), "comm": "workload"} and one["searches"] > 10, one
        disks = [cause for cause in verdict if cause["cause"].startswith("block")]
        assert not [disk for disk in disks if 2 * disk["longest_ns"] > one["longest_ns"]], verdict


def waited_for_disk_ms(said):
    """Returns how many milliseconds the task waited for block I/O between the two lines of its stat, by the kernel's
    count, and its major faults in that time."""
    stats = [line.rpartition(")")[2].split() for line in said.splitlines() if ") R " in line]
    assert len(stats) == 2, said
    return tuple((int(stats[1][field]) - int(stats[0][field])) * unit for field, unit in ((39, 10), (9, 1)))


@case(configs=SWAPPED, alone=True)
def latency_names_swapping(t):
    """A program reads memory that was swapped out: its page faults, no longer than the guest's own counter of waits for
    block I/O. The tenant's kernel must never be blamed."""
    t.guest.run("echo 0 >/proc/sys/vm/page-cluster")
    with pressed(t, 24, "thrash") as pid, t.attach() as traced:
        verdict = measure(t, traced, lambda: press(t, pid), "--for=10m", "--threshold=200ms", until_planted=True)
        ms, faults = waited_for_disk_ms(t.guest.run("cat /tmp/pressed"))
    t.note(f"{ms} ms of block I/O, {faults} major faults")
    assert verdict and not [cause for cause in verdict if cause["fault"] == "tenant-kernel"], verdict
    told = [cause for cause in verdict if cause["cause"] == "page-faults"]
    # On a busy host each request is slow, or the vCPUs do not run: then that is the cause.
    assert told or verdict[0]["cause"] in ("vcpu-not-run", "block-device", "reclaim"), verdict
    for cause in told:
        assert cause["task"] == {"pid": int(pid), "comm": "workload"} and 0 < cause["faults"] <= faults, told
        assert cause["longest_ns"] / 1e6 <= ms * 1.1 and cause["fault"] in ("tenant-program", "unknown"), told


@contextlib.contextmanager
def busy_guest(t):
    """Keeps the first vCPU busy all the time."""
    pid = t.guest.run(BUSY).strip()
    try:
        yield
    finally:
        t.guest.run(f"kill {pid}")


def blames_host_only(verdict):
    """On a busy host, causes of the tenant may occur, but the fault must not be the tenant's kernel or program."""
    wrong = [cause for cause in verdict if cause["fault"].startswith("tenant")]
    assert not wrong, wrong


def measure_stopped(t, traced):
    """Stops the VMM. Returns the verdict, and how many milliseconds it was stopped."""
    stopped = []

    def stop():
        begin = time.monotonic()
        os.kill(t.guest.pid, signal.SIGSTOP)
        time.sleep(1.5)
        os.kill(t.guest.pid, signal.SIGCONT)
        stopped.append(time.monotonic() - begin)

    verdict = measure(t, traced, stop, "--for=6s", "--threshold=500ms")
    return verdict, stopped[0] * 1000


@case(configs=GUEST, alone=True)
def latency_names_a_stopped_vmm(t):
    """The VMM is stopped for 1.5 s: the host, and not the tenant."""
    with t.attach() as traced, busy_guest(t):
        verdict, _ = measure_stopped(t, traced)
        stopped = [cause for cause in verdict if cause["fault"] == "host"]
        assert verdict and verdict[0]["fault"].startswith("host") and stopped, verdict
        assert stopped[0]["longest_ns"] >= 1.3e9, stopped
        blames_host_only(verdict)


@contextlib.contextmanager
def hog(cpu, *words):
    """Runs a busy program of higher priority on CPU, whose command line begins with WORDS. Yields its pid."""

    def prepare():
        os.sched_setaffinity(0, {cpu})
        os.nice(-10)

    busy = [words[0], "-c", "while True: pass", *words[1:]]
    with subprocess.Popen(busy, executable=sys.executable, preexec_fn=prepare) as process:
        try:
            yield process.pid
        finally:
            process.kill()


NEIGHBOUR = ("qemu-system-x86_64", "-name", "guest=neighbour,debug-threads=on")  # command line of another guest's VMM


def measure_crowded(t, traced, words=("hog",), threshold="20ms"):
    """While latency measures, a busy program of higher priority, whose command line begins with WORDS, shares the CPU
    of the first vCPU. It does not start earlier, because hvtrace cannot patch a guest that gets so little time. Returns
    the verdict, and how many milliseconds all vCPUs waited for a CPU according to the host's scheduler."""
    tid = vcpu_thread(t.guest.pid, 0)
    cpus = os.sched_getaffinity(tid)
    waited = []

    def waited_ns():
        total = 0
        for vcpu in range(t.guest.config.vcpus):
            with open(f"/proc/{t.guest.pid}/task/{vcpu_thread(t.guest.pid, vcpu)}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[1])
        return total

    def crowd():
        waited.append(waited_ns())
        with hog(max(cpus), *words):
            time.sleep(5)
        waited.append(waited_ns())

    os.sched_setaffinity(tid, {max(cpus)})
    try:
        verdict = measure(t, traced, crowd, "--for=10m", f"--threshold={threshold}", until_planted=True)
    finally:
        os.sched_setaffinity(tid, cpus)
    return verdict, (waited[1] - waited[0]) / 1e6


STORM_MS = 5000


def measure_exit_storm(t, traced):
    """A program on the second vCPU executes CPUID endlessly. Returns the verdict, and the duration in milliseconds."""
    verdict = measure(t, traced, lambda: t.guest.run(f"taskset 2 workload exits {STORM_MS}"), "--for=8s", "--threshold=400ms")
    return verdict, STORM_MS


@case(configs=GUEST, alone=True)
def latency_names_a_crowded_cpu(t):
    """A busy program of higher priority shares the CPU of a vCPU: the host's scheduler, and not the tenant."""
    with t.attach() as traced, busy_guest(t):
        verdict, _ = measure_crowded(t, traced)
        first(verdict, "vcpu-not-run", "host-scheduler", None)
        blames_host_only(verdict)


SLOW_MS = 250  # per request


def measure_slow_disk(t, traced):
    """Returns the verdict, and how many milliseconds all requests took together according to the guest."""

    def ticks():
        return int(t.guest.run("cat /sys/block/nvme0n1/stat").split()[3])

    def throttle(requests):
        t.guest.monitor(f"block_set_io_throttle disk 0 0 0 {requests} 0 0")

    def read():
        # Takes eight seconds, which hvtrace needs to relate the guest's clock to the host's.
        t.guest.run(f"dd if=/dev/nvme0n1 of=/dev/null bs=4096 count={8000 // SLOW_MS} iflag=direct")

    before = ticks()
    throttle(1000 // SLOW_MS)
    try:
        return measure(t, traced, read, "--for=10m", "--threshold=100ms", until_planted=True), ticks() - before
    finally:
        throttle(0)


@case(configs=DISK, alone=True)
def latency_names_a_slow_disk(t):
    """A disk that does four requests per second: the host's I/O, and where the task sleeps for it."""
    with t.attach() as traced:
        verdict, _ = measure_slow_disk(t, traced)
        assert verdict and verdict[0]["fault"].startswith("host"), verdict
        blames_host_only(verdict)
        slow = [cause for cause in verdict if cause["cause"] == "block-device"]
        # On a busy host the vCPUs do not run, or QEMU's threads wait for a CPU, for longer than the requests wait.
        assert slow or (verdict[0]["cause"] == "vcpu-not-run" and verdict[0]["longest_ns"] / 1e6 > SLOW_MS / 2), verdict
        for cause in slow:
            waited_ms = cause["vmm_waited_ns"] / 1e6
            t.note(f"QEMU's threads waited for {waited_ms:.1f} ms for a CPU")
            assert cause["fault"] == ("host-scheduler" if 2 * waited_ms >= cause["longest_ns"] / 1e6 else "host-io"), cause
            assert SLOW_MS / 2 < cause["longest_ns"] / 1e6 < SLOW_MS * 1.5 + waited_ms, cause
            assert cause["victim"]["cause"] == "uninterruptible" and "vfs_read" in cause["victim"]["callers"], cause
