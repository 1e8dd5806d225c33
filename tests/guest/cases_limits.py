# SPDX-License-Identifier: GPL-2.0-or-later
"""hvtrace latency: limits of CPU time, in the guest and on the host, and competition for vCPUs. A task that has used up
its own limit is not late because of other tasks."""

import contextlib
import json
import os
import re
import signal

from cases_stalls import blames_host_only, busy_guest, measure
from lib.domain import Config
from lib.suite import KERNELS, Skip, case
from lib.wait import HANG_SECONDS

ALL = tuple(dict.fromkeys(("bullseye", *KERNELS)))
# An instruction takes a nanosecond there, so lengths are exact.
COUNTED = tuple(Config(kernel, 1, counted=True, cmdline="audit=0") for kernel in ALL)
PAIR = tuple(Config(kernel, 2) for kernel in ALL)
GROUPS = "/tmp/limits"
LOOP = "sh -c 'while :; do :; done'"


@contextlib.contextmanager
def groups(t, **limits):
    """Makes cgroups of the guest with cpu.max. A name with __ is a group nested in another."""
    paths = {name: f"{GROUPS}/{name.replace('__', '/')}" for name in limits}
    t.guest.run(f"mkdir {GROUPS} && mount -t cgroup2 none {GROUPS} && echo +cpu >{GROUPS}/cgroup.subtree_control")
    for name, limit in limits.items():
        t.guest.run(f"mkdir {paths[name]}; echo '{limit}' >{paths[name]}/cpu.max")
        if any(other.startswith(name + "__") for other in limits):
            t.guest.run(f"echo +cpu >{paths[name]}/cgroup.subtree_control")
    pids = []

    def start(name, cpus="3"):
        pids.append(t.guest.run(f"(echo 0 >{paths[name]}/cgroup.procs; exec taskset {cpus} {LOOP}) >/dev/null 2>&1 & echo $!").strip())
        return int(pids[-1])

    try:
        yield start
    finally:
        if pids:
            t.guest.run(f"kill {' '.join(pids)}")
        for path in reversed(paths.values()):
            t.guest.run(f"until rmdir {path}; do sleep 0.1; done 2>/dev/null")
        t.guest.run(f"umount {GROUPS}; rmdir {GROUPS}")


def limits_of(verdict):
    """Returns the causes that are limits of cgroups, by the group's path."""
    return {cause["limit"]["cgroup"]: cause for cause in verdict if cause["cause"] == "cpu-limit" and "cgroup" in cause["limit"]}


def measure_for(t, traced, *words):
    """Returns the whole output of hvtrace latency, with no activity started during it."""
    process = t.hv.start("latency", "--json", *words, traced.domain)
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0, err.decode()
    found = json.loads(out)
    t.note(found["answer"])
    return found


@case(configs=(COUNTED[0], COUNTED[-1]), further=COUNTED[1:-1], sanitized=True)
def latency_names_a_cpu_limit(t):
    """A program may run for 10 of each 100 ms: latency reports its cgroup's limit, with duration and count, and blames
    the tenant's limit."""
    with groups(t, web="10000 100000") as start, t.attach() as traced:
        pid = start("web")
        found = measure_for(t, traced, "--for=3s", "--threshold=20ms")
        one = found["verdict"][0]
        assert (one["cause"], one["fault"]) == ("cpu-limit", "tenant-limit"), found["verdict"]
        assert one["limit"] == {"cgroup": "/web", "quota_ns": 10_000_000, "period_ns": 100_000_000}, one
        assert 75e6 < one["longest_ns"] < 95e6 and one["task"] == {"pid": pid, "comm": "sh"}, one
        assert one["times"] > 10 and one["victims"] >= one["times"] - 1 and one["total_ns"] > 10 * 75e6, one
        assert "/web (10.0 ms of each 100 ms)" in found["answer"] and "the tenant's limit" in found["answer"], found["answer"]
        assert not [cause for cause in found["verdict"] if cause["cause"] == "run-queue"], found["verdict"]
        assert traced.text("kprobe_events") == "", "the probes remain"


@case(configs=PAIR[:1], further=PAIR[1:])
def latency_names_several_cpu_limits(t):
    """A group nested in the group that has the limit, and a group with a separate limit on the other vCPU: both are
    named by their paths."""
    with groups(t, outer="20000 100000", outer__inner="max 100000", alone="30000 200000") as start, t.attach() as traced:
        start("outer__inner", "1")
        start("alone", "2")
        found = measure_for(t, traced, "--for=8s", "--threshold=20ms")
        told = limits_of(found["verdict"])
        assert set(told) == {"/outer", "/alone"}, found["verdict"]
        for path, quota, period in (("/outer", 20, 100), ("/alone", 30, 200)):
            assert told[path]["limit"]["quota_ns"] == quota * 1_000_000 and told[path]["limit"]["period_ns"] == period * 1_000_000
            assert told[path]["fault"] == "tenant-limit" and told[path]["times"] > 5, told


@case(configs=COUNTED[1:2], further=(*COUNTED[:1], *COUNTED[2:]))
def latency_names_a_realtime_limit(t):
    """A real-time task runs all the time and is throttled: latency reports the limit of real-time tasks."""
    with t.attach() as traced:
        t.guest.run("echo 500000 >/proc/sys/kernel/sched_rt_runtime_us")
        try:
            verdict = measure(t, traced, lambda: t.guest.run("workload starve 2500"), "--for=10m", "--threshold=20ms", until_planted=True)
        finally:
            t.guest.run("echo 950000 >/proc/sys/kernel/sched_rt_runtime_us")
        limited = [cause for cause in verdict if cause["cause"] == "cpu-limit"]
        assert limited and limited[0]["limit"] == {"class": "realtime"} and limited[0]["fault"] == "tenant-limit", verdict
        assert limited[0]["task"]["comm"] == "greedy" and limited[0]["longest_ns"] > 20e6, limited


@case(configs=COUNTED[:1], further=COUNTED[1:2])
def latency_names_a_crowd(t):
    """Four busy programs compete for a vCPU: one cause, not one for each of them. Their program has no symbols, so its
    functions are addresses."""
    with t.attach() as traced:
        pids = t.guest.run("for i in 1 2 3 4; do " + LOOP + " >/dev/null 2>&1 & echo $!; done").split()
        try:
            found = measure_for(t, traced, "--for=5s", "--threshold=5ms")
        finally:
            t.guest.run(f"kill {' '.join(pids)}")
        waits = [cause for cause in found["verdict"] if cause["cause"] == "run-queue"]
        assert len(waits) == 1 and waits[0]["crowd"] >= 4 and waits[0]["fault"] == "tenant-program", found["verdict"]
        assert "programs of the tenant compete for 1 vCPU; each waits" in found["answer"], found["answer"]
        program = waits[0].get("program")
        assert program is None or re.match(r"busybox\+0x[0-9a-f]+( \[[0-9a-f]+\])?$", program["function"]), program
        t.note(f"program: {program}")


@contextlib.contextmanager
def limited_vmm(t, quota_us):
    """The VMM may run for QUOTA_US of each 100 ms."""
    v1, v2 = "/sys/fs/cgroup/cpu", "/sys/fs/cgroup"
    is_v1 = os.path.exists(f"{v1}/cpu.cfs_quota_us") or os.path.exists(f"{v1}/cgroup.procs")
    root = v1 if is_v1 else v2
    with open(f"/proc/{t.guest.pid}/cgroup", encoding="ascii") as file:
        lines = [line.rstrip("\n").split(":", 2) for line in file]
    before = next(path for _, names, path in lines if ("cpu" in names.split(",") if is_v1 else not names))
    path = f"{root}/hvtrace-test-{os.getpid()}"

    def write(name, text):
        with open(name, "w", encoding="ascii") as file:
            file.write(text)

    try:
        if not is_v1:
            write(f"{root}/cgroup.subtree_control", "+cpu")
        os.mkdir(path)
        write(f"{path}/cpu.cfs_quota_us" if is_v1 else f"{path}/cpu.max", f"{quota_us}" if is_v1 else f"{quota_us} 100000")
    except OSError as error:
        raise Skip(f"no cgroup with a limit can be made here: {error}")
    try:
        write(f"{path}/cgroup.procs", str(t.guest.pid))
        yield f"/hvtrace-test-{os.getpid()}"
    finally:
        write(f"{root}{before}/cgroup.procs", str(t.guest.pid))
        os.rmdir(path)


@case(configs=PAIR[1:2], alone=True)
def latency_names_a_limit_of_the_vmm(t):
    """The VMM may run for 15 of each 100 ms: from the times of the vCPUs alone, latency blames the host's limit, and not
    the tenant. On a host so busy that the VMM gets even less, it names the host's scheduler."""
    with t.attach() as traced, busy_guest(t), limited_vmm(t, 15000) as path:
        found = measure_for(t, traced, "--for=8s", "--threshold=50ms")
        one = found["verdict"][0]
        worst = max(found["vcpus"], key=lambda vcpu: vcpu["waited_ns"])
        is_busy = 2 * worst["limited_ns"] < worst["waited_ns"]
        assert (one["cause"], one["fault"]) == ("vcpu-not-run", "host-scheduler" if is_busy else "host-limit"), found
        blames_host_only(found["verdict"])
        assert "The host ran vCPU" in found["answer"], found
        if is_busy:
            raise Skip(f"the host is too busy: {found['vcpus']}")
        assert f"its cgroup {path} (15.0 ms of each 100 ms)" in found["answer"], found
        assert worst["limited_ns"] > worst["window_ns"] / 5, found["vcpus"]


@case(configs=PAIR[1:2], alone=True)
def latency_reports_shares(t):
    """The host's times of each vCPU add up to the measured time, and a stopped VMM is shown."""
    with t.attach() as traced, busy_guest(t):

        def stop():
            os.kill(t.guest.pid, signal.SIGSTOP)
            os.kill(t.guest.pid, signal.SIGCONT)

        measure(t, traced, stop, "--for=2s")
        found = measure_for(t, traced, "--for=3s")
        assert [vcpu["cpu"] for vcpu in found["vcpus"]] == [0, 1], found["vcpus"]
        for vcpu in found["vcpus"]:
            parts = sum(vcpu[key] for key in ("ran_ns", "waited_ns", "stopped_ns", "halted_ns"))
            assert parts == vcpu["window_ns"] > 2.5e9, vcpu
        assert found["vcpus"][0]["ran_ns"] + found["vcpus"][0]["waited_ns"] > 1.5e9, "the first vCPU was not busy"
