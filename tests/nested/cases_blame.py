# SPDX-License-Identifier: GPL-2.0-or-later
"""hvtrace latency with the host's own events: exit storms, and the tasks on a vCPU's CPU. The first cause must be the
planted one, or the first of the host's causes. The nested host is itself a guest whose CPUs are taken away now and
then. Software in it cannot see that, so only stalls longer than that count."""

import os
import time

from cases_metrics import exporter, stolen
from cases_stalls import NEIGHBOUR, busy_guest, first, hog, load_plants, measure, measure_exit_storm, vcpu_thread
from lib.suite import STANDARD, case
from lib.wait import until

GUEST = STANDARD[:1]
LONG = "--threshold=400ms"
READS = 2000000  # of the clock, which take about a second


def crowded(t, words):
    """Measures while a hog shares the CPU of the first vCPU. Returns the first cause that is the host's scheduling, and
    the hog's pid. Waits in a guest that gets so little time are real, too, so they are ignored."""
    tid = vcpu_thread(t.guest.pid, 0)
    cpus = os.sched_getaffinity(tid)
    cpu = max(cpus)
    pids = []

    def crowd():
        with hog(cpu, *words) as pid:
            pids.append(pid)
            time.sleep(4)

    with t.attach() as traced, busy_guest(t):
        os.sched_setaffinity(tid, {cpu})
        try:
            verdict = measure(t, traced, crowd, "--for=8s", LONG)
        finally:
            os.sched_setaffinity(tid, cpus)
    taken = [cause for cause in verdict if cause["cause"] == "vcpu-not-run"]
    assert taken, verdict
    return taken[0], pids[0]


@case(configs=GUEST)
def latency_of_a_quiet_guest_on_kvm(t):
    """A quiet guest has no exit storm, and no other tenant is blamed."""
    with t.attach() as traced:
        for _ in range(2):
            verdict = measure(t, traced, lambda: t.guest.run("cat /proc/uptime"), "--for=5s", LONG)
            wrong = [cause for cause in verdict if cause["cause"] == "exits" or cause["fault"] == "other-tenant"]
            assert not wrong, wrong


@case(configs=GUEST)
def latency_names_interrupts_off_on_kvm(t):
    """Interrupts off for about a second: the section is reported, with its function, task and length, and only the
    tenant's kernel is blamed for it. Other waits in a guest on such a slow host are real, so the section need not be
    first."""
    load_plants(t)
    with t.attach() as traced:
        said = []
        verdict = measure(t, traced, lambda: said.append(t.guest.run(f"planted cli {READS}")), "--for=8s", LONG)
        t.note(f"the guest measured {int(said[0].split()[1]) / 1e6:.1f} ms")
        told = [cause for cause in verdict if cause["cause"] == "irqs-off" and cause["function"] == "plant_cli"]
        assert told and told[0]["fault"] in ("tenant-kernel", "unknown"), verdict
        one = told[0]
        ms = (one["longest_ns"] + one["not_run_ns"]) / 1e6
        assert abs(ms - int(said[0].split()[1]) / 1e6) <= ms / 10, verdict
        assert one["from"] == "plant_cli" and one["task"]["comm"] == "planted", one


@case(configs=GUEST)
def latency_names_an_exit_storm(t):
    """A program executes CPUID endlessly: the tenant's program, with the reason, the vCPU and the task."""
    with t.attach() as traced:
        verdict, _ = measure_exit_storm(t, traced)
        one = first(verdict, "exits", "tenant-program", None)
        assert one["reason"].lower() == "cpuid" and one["cpu"] == 1, one
        assert one["task"]["comm"] == "workload" and one["exits"] > 1000, one


@case(configs=GUEST)
def latency_names_the_thread_on_the_cpu(t):
    """A busy program of higher priority shares the CPU of a vCPU: the host's scheduler, and that program."""
    one, pid = crowded(t, ("hog",))
    assert one["fault"] == "host-scheduler", one
    assert (one["by"]["pid"], one["by"]["of"]) == (pid, "host"), one


@case(configs=GUEST)
def latency_names_another_tenant(t):
    """As above with a process that looks like the VMM of another guest: another tenant, and its domain."""
    one, pid = crowded(t, NEIGHBOUR)
    assert one["fault"] == "other-tenant", one
    assert (one["by"]["pid"], one["by"]["domain"]) == (pid, "neighbour"), one


@case(configs=GUEST)
def exporter_reports_waits_of_vcpus(t):
    """While a busy program shares the CPU of a vCPU, the histogram of exporter --steal grows as the host scheduler's
    counts for the vCPU threads do."""
    tid = vcpu_thread(t.guest.pid, 0)
    cpus = os.sched_getaffinity(tid)
    seen = []  # the third value from the end is from before measuring began
    with exporter(t, "--steal") as page, t.attach(), busy_guest(t):
        assert until(lambda: seen.append(stolen(t.guest.pid)) or page().get("hvtrace_steal_measured") == 1), page().text
        before, begin = page().get("hvtrace_steal_wait_seconds_sum"), stolen(t.guest.pid)
        os.sched_setaffinity(tid, {max(cpus)})
        try:
            with hog(max(cpus), "hog"):
                time.sleep(4)
        finally:
            os.sched_setaffinity(tid, cpus)
        own = stolen(t.guest.pid) - begin
        assert until(lambda: page().get("hvtrace_steal_wait_seconds_sum") - before >= own * 0.9), (own, before, page().text)
        found = page()
        ours = found.get("hvtrace_steal_wait_seconds_sum")
        assert ours <= (stolen(t.guest.pid) - seen[-3:][0]) * 1.1, (ours, seen[-3:], stolen(t.guest.pid))
        assert found.get("hvtrace_steal_wait_seconds_count") > 0 and not found.get("hvtrace_runqueue_wait_seconds_count"), found.text
        t.note(f"{ours - before:.3f} s of {own:.3f}, {found.get('hvtrace_steal_wait_seconds_count'):.0f} waits")
