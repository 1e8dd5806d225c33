# SPDX-License-Identifier: GPL-2.0-or-later
"""Files for other programs, of real guests."""

import json
import os
import shutil

from lib import ctf
from lib.suite import STANDARD, Config, Skip, case
from lib.wait import HANG_SECONDS, until

OF_ALL = ("event", "time", "cpu", "pid", "comm", "fields")


def recorders(t, traced):
    """How many recordings have begun."""
    return sum(traced.text(f"instances/{name}/tracing_on") == "1\n" for name in t.hv("ls", t.name, "instances").split())


def between(events, begin, end):
    found = [event for event in events if begin <= event["time"] <= end]
    return sorted(found, key=lambda event: (event["time"], event["cpu"], event["event"], event["pid"]))


@case(configs=STANDARD[:1])
def ctf_and_json_lines_agree(t):
    """Two who record the same at a time, functions, events and marks, one in CTF and one in JSON lines: what both have seen
    is the same, field by field."""
    if not shutil.which("babeltrace2"):
        raise Skip("needs babeltrace2")
    made = f"/tmp/{t.name}.ctf"
    shutil.rmtree(made, ignore_errors=True)
    words = ("record", "-p", "function", "-l", "vfs_*", "-e", "sched:sched_switch", "-e", "sched:sched_process_*", "-e", "irq", "--marks")
    try:
        with t.attach() as traced:
            both = [t.hv.start(*words, "-o", path, f"--format={name}", t.name) for path, name in (("-", "jsonl"), (made, "ctf"))]
            assert until(lambda: recorders(t, traced) == 2)
            t.guest.run("for i in 1 2 3; do hvtrace-agent mark round $i; busybox ls -l /proc/self >/dev/null; done")
            for recording in both:
                recording.terminate()
            lines = [json.loads(line) for line in both[0].communicate(timeout=HANG_SECONDS)[0].splitlines()][1:]
            both[1].communicate(timeout=HANG_SECONDS)
            events, lost = ctf.read(made, HANG_SECONDS)
            assert not lost and not any(line["event"] == "lost" for line in lines), lost
    finally:
        if os.path.isdir(made):
            shutil.rmtree(made)
    begin = max(min(one["time"] for one in some) for some in (lines, events))
    end = min(max(one["time"] for one in some) for some in (lines, events))
    lines, events = between(lines, begin, end), between(events, begin, end)
    assert len(lines) == len(events), (len(lines), len(events))
    for line, event in zip(lines, events):
        assert all(event[key] == line[key] for key in ("event", "time", "cpu", "pid")), (event, line)
        for key, value in (line.get("fields") or line).items():
            assert key in OF_ALL or ctf.agree(event["fields"][key], value), (event, line, key)
    marks = [event["fields"]["text"] for event in events if event["event"] == "mark"]
    assert marks == ["round 1", "round 2", "round 3"], marks
    kinds = {event["event"] for event in events}
    assert {"function", "sched_switch", "sched_process_fork", "mark"} <= kinds, kinds
    t.note(f"{len(events)} events of {len(kinds)} kinds")


@case(configs=(Config("trixie", vcpus=2, agent_port=True),))
def containers_by_the_agent(t):
    """hvtrace-agent tells by a port of virtio-serial of which cgroup each process is, and stat shows it."""
    port = f"--agent={t.guest.dir}/agent"
    t.guest.run(
        "mkdir -p /tmp/cg; mount -t cgroup2 none /tmp/cg; mkdir -p '/tmp/cg/web shop/front'; "
        "busybox sleep 100000 & echo $! >'/tmp/cg/web shop/front/cgroup.procs'; "
        "hvtrace-agent serve /dev/vport0p1 >/tmp/serve 2>&1 &"
    )
    pid = int(t.guest.run("cat '/tmp/cg/web shop/front/cgroup.procs'"))
    with t.attach():
        found = {one["cgroup"]: one["pids"] for one in json.loads(t.hv("stat", "--json", port, t.name))["agent_says"]}
        assert found["/web shop/front"] == [pid] and 1 in found["/"], found
        assert f"agent says   /web shop/front: pid {pid}\n" in t.hv("stat", port, t.name)
        assert "agent says" not in t.hv("stat", t.name)
    t.guest.run("busybox killall hvtrace-agent; kill $(cat '/tmp/cg/web shop/front/cgroup.procs'); sleep 1; umount /tmp/cg")
    t.note(f"{len(found)} cgroups")
