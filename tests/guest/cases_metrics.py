# SPDX-License-Identifier: GPL-2.0-or-later
"""hvtrace exporter: its numbers for a guest agree with the counts of the guest's own scheduler and of the host's."""

import contextlib
import http.client
import os
import re
import signal
import socket

from lib.ftrace import go, start_workload
from lib.suite import STANDARD, case
from lib.wait import HANG_SECONDS, until

ROUNDS = 2000
SPIN_SECONDS = 3


class Page:
    """The metrics of one domain, from an exporter that listens at a socket."""

    def __init__(self, path, domain):
        connection = http.client.HTTPConnection("localhost", timeout=HANG_SECONDS)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(path)
        connection.request("GET", "/metrics")
        self.text = connection.getresponse().read().decode()
        self.domain = domain
        connection.close()

    def get(self, name, default=None):
        match = re.search(rf'^{name}{{domain="{self.domain}",[^}}]*}} (\S+)$', self.text, re.M)
        return float(match[1]) if match else default

    def buckets(self):
        found = re.findall(rf'^hvtrace_runqueue_wait_seconds_bucket{{domain="{self.domain}",[^}}]*le="(\S+)"}} (\S+)$', self.text, re.M)
        return [(float(le), float(nr)) for le, nr in found]


def listens(path):
    """The socket exists a moment before the exporter listens at it."""
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(path) == 0


@contextlib.contextmanager
def exporter(t, *words):
    path = f"/tmp/{t.name}.metrics"
    process = t.hv.start("exporter", f"--listen=unix:{path}", *words)
    try:
        assert until(lambda: listens(path) or process.poll() is not None) and process.poll() is None, process.stderr.read()
        yield lambda: Page(path, t.name)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=HANG_SECONDS) == 0, process.stderr.read()
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


def own_waits(t):
    """Returns the counts of the guest's scheduler for all run queues: (waits, their time in seconds)."""
    lines = re.findall(r"^cpu\d+ .* (\d+) (\d+)$", t.guest.run("cat /proc/schedstat"), re.M)
    return sum(int(nr) for _, nr in lines), sum(int(ns) for ns, _ in lines) / 1e9


def stolen(pid):
    """Returns how long the host let the threads of vCPUs wait, in seconds."""
    waited = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/comm", encoding="ascii", errors="replace") as file:
            name = file.read()
        if name.startswith(("CPU ", "ALL CPUs")):
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                waited += int(file.read().split()[1])
    return waited / 1e9


@case(configs=(STANDARD[0], STANDARD[3]), alone=True)
def exporter_agrees_with_the_schedulers(t):
    """The histogram of waits includes a ping-pong of two threads, and no more waits than the guest's /proc/schedstat.
    Its sum grows equally while two programs share a vCPU. Steal is the host's count. Without a session there are no
    series."""
    first = own_waits(t)
    with exporter(t, "--runqueue", "--max-overhead=100") as page:
        with t.attach():
            assert until(lambda: page().get("hvtrace_runqueue_measured") == 1), page().text
            tasks = int(t.guest.run("ls -d /proc/[0-9]*/task/* | wc -l"))
            pid = start_workload(t.guest, "threads", ROUNDS)
            quiet, begin = page(), own_waits(t)
            go(t.guest, pid)
            end = own_waits(t)
            planted = end[0] - begin[0]
            assert planted >= ROUNDS, (begin, end)
            # The first wait of a new task may be missing.
            assert until(lambda: page().get("hvtrace_runqueue_wait_seconds_count") >= planted - tasks), (planted, tasks, page().text)
            assert until(lambda: page().get("hvtrace_overhead_seconds_total", 0) > 0), page().text

            counted, waited = page(), own_waits(t)
            t.guest.run(
                f"for i in 1 2; do timeout {SPIN_SECONDS} taskset 1 sh -c 'while :; do :; done' & done; wait", timeout=HANG_SECONDS
            )
            own = own_waits(t)[1] - waited[1]
            grown = "hvtrace_runqueue_wait_seconds_sum"
            assert until(lambda: page().get(grown) - counted.get(grown) >= own * 0.9), (own, counted.text, page().text)
            found, last = page(), own_waits(t)
            # Compares from QUIET on, because the last waits of the ping-pong may reach the histogram after COUNTED.
            ours, own = found.get(grown) - quiet.get(grown, 0), last[1] - begin[1]
            # With several vCPUs, the guest counts a wait only after the other vCPU has put the task on its run queue.
            assert ours <= own * 1.1 or t.guest.config.vcpus > 1, (ours, own, counted.text, quiet.text)
            nr, buckets = found.get("hvtrace_runqueue_wait_seconds_count"), found.buckets()
            assert found.get("hvtrace_runqueue_lost_events_total") == 0, found.text
            assert nr <= last[0] - first[0], (nr, first, last)
            assert buckets == sorted(buckets, key=lambda one: one[1]) and buckets[-1] == (float("inf"), nr), buckets
            t.note(f"{nr:.0f} waits of {last[0] - first[0]}, {ours:.3f} s of {own:.3f}")
            t.note(f"overhead {found.get('hvtrace_overhead_seconds_total') * 1e3:.1f} ms")

            before = stolen(t.guest.pid)
            steal = page().get("hvtrace_steal_seconds_total")
            assert before <= steal <= stolen(t.guest.pid), (before, steal)
        assert until(lambda: page().get("hvtrace_up") is None), page().text
        assert not re.search(rf'domain="{t.name}"', page().text), page().text
