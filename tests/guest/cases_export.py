# SPDX-License-Identifier: GPL-2.0-or-later
"""Files for other programs, from real guests."""

import json
import os
import re
import shutil
import signal
import subprocess

from lib import ctf
from lib.suite import ONE_VCPU, STANDARD, Config, Skip, case
from lib.wait import HANG_SECONDS, until

OF_ALL = ("event", "time", "cpu", "pid", "comm", "fields")


# A guest whose counter is not stable starts with the clock global, which may be corrected by a tick after earlier
# events were read. So two readers may see slightly different times for an event.
LEARNED_NS = 50000
ENDS_MAX = 8  # events at either end that only one reader has seen because of that


def of_cpu(events, cpu, begin, end):
    found = [event for event in events if event["cpu"] == cpu and begin <= event["time"] <= end]
    return sorted(found, key=lambda event: event["time"])


def pairs(some, others):
    def is_one(a, b):
        return (a["event"], a["pid"]) == (b["event"], b["pid"]) and abs(a["time"] - b["time"]) < LEARNED_NS

    for shift in sorted(range(-ENDS_MAX, ENDS_MAX + 1), key=abs):
        found = list(zip(some[max(shift, 0) :], others[max(-shift, 0) :]))
        if all(is_one(a, b) for a, b in found) and max(len(some), len(others)) - len(found) <= ENDS_MAX:
            return found
    first = next(((a, b) for a, b in zip(some, others) if not is_one(a, b)), None)
    raise AssertionError((len(some), len(others), first))


@case(configs=STANDARD[:1], sanitized=True)
def ctf_and_json_lines_agree(t):
    """Two simultaneous recordings of functions, events and marks, one in CTF and one in JSON lines: common events are
    equal, field by field, and every event has its task's name, also the first events of tasks that have ended."""
    if not shutil.which("babeltrace2"):
        raise Skip("needs babeltrace2")
    made = f"/tmp/{t.name}.ctf"
    shutil.rmtree(made, ignore_errors=True)
    words = ("record", "-p", "function", "-l", "vfs_*", "-e", "sched:sched_switch", "-e", "sched:sched_process_*", "-e", "irq", "--marks")
    try:
        with t.attach():
            both = [t.hv.start(*words, "-o", path, f"--format={name}", t.name) for path, name in (("-", "jsonl"), (made, "ctf"))]
            for recording in both:
                t.await_record(recording, "function")
            t.guest.run("for i in 1 2 3; do hvtrace-agent mark round $i; busybox ls -l /proc/self >/dev/null; done; for i in $(seq 300); do busybox true; done")
            for recording in both:
                recording.terminate()
            lines = [json.loads(line) for line in both[0].communicate(timeout=HANG_SECONDS)[0].splitlines()][1:]
            both[1].communicate(timeout=HANG_SECONDS)
            events, lost = ctf.read(made, HANG_SECONDS)
            assert not lost and not any(line["event"] == "lost" for line in lines), lost
    finally:
        if os.path.isdir(made):
            shutil.rmtree(made)
    unnamed = [one for one in lines + events if one["comm"] == "<...>"]
    assert not unnamed, (len(unnamed), unnamed[:3])
    begin = max(min(one["time"] for one in some) for some in (lines, events))
    end = min(max(one["time"] for one in some) for some in (lines, events))
    cpus = {one["cpu"] for one in lines + events}
    both = [pair for cpu in cpus for pair in pairs(of_cpu(lines, cpu, begin, end), of_cpu(events, cpu, begin, end))]
    for line, event in both:
        for key, value in (line.get("fields") or line).items():
            assert key in OF_ALL or ctf.agree(event["fields"][key], value), (event, line, key)
    marks = [event["fields"]["text"] for _, event in sorted(both, key=lambda pair: pair[1]["time"]) if event["event"] == "mark"]
    assert marks == ["round 1", "round 2", "round 3"], marks
    kinds = {event["event"] for _, event in both}
    assert {"function", "sched_switch", "sched_process_fork", "mark"} <= kinds, kinds
    t.note(f"{len(both)} events of {len(kinds)} kinds")


KNOWN_COUNTERS = ("tsc", "kvm-clock")


def counter_of(t):
    """Returns the guest's timekeeping counter. On a busy host its kernel sometimes distrusts the TSC, permanently."""
    return t.guest.run("cat /sys/devices/system/clocksource/clocksource0/current_clocksource").strip()


@case(configs=ONE_VCPU)
def files_have_the_time_of_day(t):
    """record --date: in each format, events are between the times of day that a program in the guest read before and
    after them, also after the guest's clock was set."""
    made = {name: f"/tmp/{t.name}{name}" for name in (".dat", ".ctf", ".pftrace")}
    words = ("record", "-p", "function", "-l", "ksys_unshare", "--date")
    was = int(t.guest.run("date +%s"))
    try:
        t.guest.run("date -s '2031-05-06 07:08:09' >/dev/null")
        with t.attach():
            if "guest_time" not in json.loads(t.hv("stat", "--json", t.name)):
                counter = counter_of(t)
                assert counter not in KNOWN_COUNTERS, counter
                t.hv.fails(*words, "-o", made[".dat"], t.name, says=("cannot read the guest's time of day",))
                raise Skip(f"this guest keeps its time by {counter}: --date is refused")
            recordings = [t.hv.start(*words, "-o", path, t.name) for path in made.values()]
            recordings.append(t.hv.start(*words, "-o", "-", "--format=jsonl", t.name))
            for recording in recordings:
                t.await_record(recording, "function")
            told = [tuple(map(int, line.split())) for line in t.guest.run("workload today 3").splitlines()[:3]]
            for recording in recordings:
                recording.terminate()
            said = [recording.communicate(timeout=HANG_SECONDS) for recording in recordings]
            if (counter := counter_of(t)) not in KNOWN_COUNTERS:
                raise Skip(f"this guest now keeps its time by {counter}")
            assert [one.returncode for one in recordings] == [-signal.SIGTERM] * len(recordings), said
            begin, *events = (json.loads(line) for line in said[-1][0].splitlines())
        seen = {"jsonl": [begin["epoch_ns"] + event["time"] for event in events]}
        text = t.hv("report", made[".dat"])
        seen["dat"] = [int(float(found) * 10**6) * 1000 for found in re.findall(r"\] *\S* *(\d+\.\d+): ", text)]
        if shutil.which("babeltrace2"):
            done = subprocess.run(["babeltrace2", "--clock-seconds", made[".ctf"]], capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
            seen["ctf"] = [int(found.replace(".", "")) for found in re.findall(r"^\[(\d+\.\d{9})\]", done.stdout, re.MULTILINE)]
    finally:
        t.guest.run(f"date -s @{was} >/dev/null")
        for path in made.values():
            shutil.rmtree(path, ignore_errors=True)
            if os.path.exists(path):
                os.unlink(path)
    for name, times in seen.items():
        assert len(times) == len(told), (name, times, told, text)
        for (before, after), time in zip(told, times):
            assert before - 10**6 <= time <= after + 10**6, (name, before, time, after)
    t.note(f"{[(time - before, after - time) for (before, after), time in zip(told, seen['jsonl'])]} ns from the program's")


def executable_maps(t, pid):
    """Returns the mappings of a process as the guest's kernel reports them: start, end, offset, path."""
    found = [line.split(maxsplit=5) for line in t.guest.run(f"cat /proc/{pid}/maps").splitlines()]
    found = [line for line in found if "x" in line[1] and len(line) == 6 and (line[4] != "0" or line[5] == "[vdso]")]
    return [tuple(int(number, 16) for number in (*line[0].split("-"), line[2])) + (line[5],) for line in found]


def agent_by_vsock(t):
    """Receives the agent's report inside the guest, with the program hear and the vsock loopback in place of the host.
    Connections to other ports fail."""
    t.guest.run("for name in $(cat /modules/order); do insmod /modules/$name.ko; done 2>/dev/null; lsmod | grep -q ^vsock_loopback")
    t.guest.run("hvtrace-agent serve vsock:1:4242 >/tmp/vsock 2>&1 & hvtrace-agent serve vsock:4243 >/tmp/vsock 2>&1 &")
    assert until(lambda: "tasks" in t.guest.run("hear vsock:1:4242 || true"))
    begin = int(t.guest.run("date +%s"))
    for _ in range(3):
        tasks, files, maps, at = map(int, re.findall(r"\d+", t.guest.run("hear vsock:1:4242")))
        assert tasks > 10 and files >= 2 and maps >= 2 and begin * 10**9 <= at, (tasks, files, maps, at)
    assert until(lambda: "does not speak the protocol of hvtrace-agent" in t.guest.run("hear vsock:1:4243 || true"))
    assert "vsock:1:4244: Connection reset" in t.guest.run("hear vsock:1:4244 || true")


@case(configs=(Config("trixie", vcpus=2, agent_port=True, modules=("dummy", "vsock_loopback")),))
def agent_reports_of_a_guest(t):
    """hvtrace-agent reports through a virtio-serial port the cgroup of each process, its mappings with build ids, and
    the time; stat shows them. Through vsock it reports the same data."""
    port = f"--agent={t.guest.dir}/agent"
    t.guest.run(
        "mkdir -p /tmp/cg; mount -t cgroup2 none /tmp/cg; mkdir -p '/tmp/cg/web shop/front'; "
        "busybox sleep 100000 & echo $! >'/tmp/cg/web shop/front/cgroup.procs'; "
        "hvtrace-agent serve /dev/vport0p1 >/tmp/serve 2>&1 &"
    )
    pid = int(t.guest.run("cat '/tmp/cg/web shop/front/cgroup.procs'"))
    with t.attach():
        begin = float(t.guest.run("cut -d' ' -f1 /proc/uptime")), int(t.guest.run("date +%s"))
        t.hv("stat", port, t.name)  # consumes the report that had begun before
        said = json.loads(t.hv("stat", "--json", port, f"--maps={pid}", t.name))
        end = float(t.guest.run("cut -d' ' -f1 /proc/uptime")), int(t.guest.run("date +%s"))
        found = {one["cgroup"]: one["pids"] for one in said["agent_says"]}
        assert found["/web shop/front"] == [pid] and 1 in found["/"], found
        text = t.hv("stat", port, t.name)
        assert f"agent tasks  /web shop/front: pid {pid}\n" in text and "\nagent clock  " in text, text
        assert "agent" not in t.hv("stat", t.name)
    maps = [tuple(int(one[key], 16) for key in ("start", "end", "offset")) + (one["file"],) for one in said["agent_maps"]]
    assert maps == executable_maps(t, pid), said["agent_maps"]
    done = subprocess.run(["readelf", "-n", shutil.which("busybox")], capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    ids = {one["file"]: one.get("build_id") for one in said["agent_maps"]}
    assert ids == {"/bin/busybox": re.search("Build ID: ([0-9a-f]+)", done.stdout)[1], "[vdso]": None}, ids
    clock = said["agent_clock"]
    assert begin[0] - 0.01 <= clock["monotonic_ns"] / 1e9 <= end[0] + 0.01, (begin, clock, end)
    assert begin[1] <= clock["realtime_ns"] / 1e9 < end[1] + 1 and clock["counter"] == "tsc", (begin, clock, end)
    agent_by_vsock(t)
    t.guest.run("busybox killall hvtrace-agent; kill $(cat '/tmp/cg/web shop/front/cgroup.procs'); until umount /tmp/cg 2>/dev/null; do sleep 0.1; done")
    t.note(f"{len(found)} cgroups, {len(maps)} mappings")
