# SPDX-License-Identifier: GPL-2.0-or-later
"""libhvtrace and its Python module on a guest, with the examples of both."""

import os
import re
import signal
import subprocess
import sys
import tempfile

from lib import ftrace, graph
from lib.domain import Config
from lib.suite import Skip, case
from lib.wait import HANG_SECONDS, until

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINE = re.compile(r"^(?P<comm>.+)-(?P<pid>\d+) \[(?P<cpu>\d+)\] (?P<time>\d+\.\d{6}): (?P<function>\S+) <-(?P<caller>\S+)$")
GRAPH_LINE = re.compile(r"^ *(?P<cpu>\d+)\) +(?P<pid>\d+) \| *(?:(?P<us>\d+\.\d{3}) us)? *\| (?P<blanks> *)"
                        r"(?:(?P<call>\S+)\(\) \{|\} (?P<left>\S+) = (?P<value>\S+))$")
FUNCTIONS, SECONDS = "vfs_* do_exit", 5


class Examples:
    """The examples, with the library of the build that contains the program under test."""

    def __init__(self, t):
        build = os.path.dirname(os.path.dirname(t.hv.path))
        self.c = f"{build}/examples/functions"
        self.graph = f"{build}/examples/graph"
        self.events = f"{build}/examples/events"
        if not os.path.exists(self.c):
            raise Skip(f"{self.c} is not built")
        self.env = dict(t.hv.env, LD_LIBRARY_PATH=f"{build}/lib", PYTHONPATH=f"{TOP}/python", PYTHONDONTWRITEBYTECODE="1")
        with open(t.hv.path, "rb") as program:
            if b"__asan_init" in program.read():
                self.env["LD_PRELOAD"] = " ".join(
                    subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
                    for name in ("libasan.so", "libubsan.so"))
                self.env["ASAN_OPTIONS"] += ":detect_leaks=0"

    def start(self, *words):
        """The program's output goes to a file, because a full pipe without a reader would block the program."""
        out = tempfile.TemporaryFile("w+")
        return subprocess.Popen(words, stdout=out, stderr=subprocess.PIPE, env=self.env), out

    def start_python(self, name, *words):
        return self.start(sys.executable, f"{TOP}/examples/{name}", *words)


def instances(t, traced):
    return t.hv("ls", traced.domain, "instances").split()


def end(process, out):
    _, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0, f"{process.args}: {process.returncode}: {err.decode()}"
    assert not err, err.decode()
    out.seek(0)
    return out.read()


def of_cpu(events, cpu):
    """Leaves out task names: one side may not know the names of tasks that have ended."""
    return [((e.pid, e.function, e.caller), e.time) for e in events if e.cpu == cpu]


def check_equal_on_cpu(ours, all_):
    """Times may differ: each instance reads the clock itself, and an interrupt can come between the two reads."""
    first = min(range(len(all_)), key=lambda i: abs(all_[i][1] - ours[0][1]))
    theirs = all_[first : first + len(ours)]
    differ = [(a, b) for a, b in zip(ours, theirs) if a[0] != b[0]]
    assert not differ and len(ours) == len(theirs), f"{len(ours)} calls, {len(all_)} in trace: {differ[:3]}"
    between = sorted(abs(a[1] - b[1]) for a, b in zip(ours, theirs))
    assert between[len(between) // 2] < 5e-6, f"{between[len(between) // 2]:.6f} s between the times, at most {between[-1]:.6f}"


def check_equal(text, trace):
    """All lines of TEXT are in TRACE, in order, without other lines of the same vCPU in between."""
    events = []
    for line in text.splitlines():
        match = LINE.match(line)
        assert match, f"not a line of a call: {line!r}"
        events.append(ftrace.Event(match["comm"], int(match["pid"]), int(match["cpu"]), "", float(match["time"]),
                                   match["function"], match["caller"]))
    assert len(events) > 100, f"{len(events)} calls: {text[:500]}"
    for cpu in {e.cpu for e in events}:
        check_equal_on_cpu(of_cpu(events, cpu), of_cpu(trace, cpu))
    known = {e.comm for e in trace} | {"<...>", "<idle>", "exe"}  # busybox calls itself by /proc/self/exe
    names = {e.pid: e.comm for e in trace}
    same = sum(e.comm == names[e.pid] for e in events)  # a task that calls execve has two names
    assert {e.comm for e in events} <= known and same > len(events) / 4, f"{same} of {len(events)} names: {known}"
    return len(events)


def graph_records(lines):
    """Returns {cpu: [((is a return, pid, depth, function, value), us)]} of graph.parse()."""
    found = {}
    for line in lines:
        of_cpu_ = found.setdefault(line.cpu, [])
        value = line.value and int(line.value, 16)
        if line.kind in (graph.ENTER, graph.LEAF):
            of_cpu_.append(((False, line.pid, line.depth, line.name, None), None))
        if line.kind in (graph.LEAVE, graph.LEAF):
            of_cpu_.append(((True, line.pid, line.depth, line.name, value), line.us))
    return found


def graph_records_of(text):
    """Like graph_records(), for the output of examples/graph."""
    found = {}
    for line in text.splitlines():
        match = GRAPH_LINE.match(line)
        assert match, f"not a line of a graph: {line!r}"
        key = bool(match["left"]), int(match["pid"]), len(match["blanks"]) // 2, match["call"] or match["left"]
        found.setdefault(int(match["cpu"]), []).append(
            ((*key, int(match["value"], 16) if match["left"] else None), match["us"] and float(match["us"])))
    return found


def are_equal(one, other, within=10.0):
    """Durations may differ: `trace` shows long ones with one decimal place, and the guest's clock may step between the
    two reads of an event."""
    return one[0] == other[0] and (one[1] is None or abs(one[1] - other[1]) <= within)


def check_graph(text, trace):
    """All lines of TEXT are in TRACE, in order, without others of the same vCPU in between."""
    lines, lost = graph.parse(trace)
    assert lost == 0, lost
    theirs, nr = graph_records(lines), 0
    for cpu, ours in graph_records_of(text).items():
        all_ = theirs[cpu]
        keys = [record[0] for record in ours]
        starts = [i for i in range(len(all_) - len(ours) + 1) if [record[0] for record in all_[i : i + len(ours)]] == keys]
        assert starts, f"vCPU {cpu}: these {len(ours)} records are not among {len(all_)} in trace: {ours[:10]}, {all_[:10]}"
        start = min(starts, key=lambda i: sum(not are_equal(a, b, 0.1) for a, b in zip(ours, all_[i:])))
        part = all_[start : start + len(ours)]
        differ = [(i, a, b) for i, (a, b) in enumerate(zip(ours, part)) if not are_equal(a, b)]
        assert not differ and len(part) == len(ours), f"vCPU {cpu}: {len(ours)} records, {len(part)} in trace: {differ[:3]}"
        exact = sum(are_equal(a, b, 0.1) for a, b in zip(ours, part))
        assert exact > 0.8 * len(ours), f"vCPU {cpu}: the durations of {len(ours) - exact} of {len(ours)} differ"
        nr += len(ours)
    assert nr > 100, f"{nr} calls and returns: {text[:500]}"
    return nr


EVENTS = "sched:sched_process_exec sched:sched_waking sched:sched_switch"
EVENT_LINE = re.compile(r"^\s*(?P<comm>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\](?: \S{4,8})?\s+(?P<time>\d+\.\d{6}): (?P<name>\w+):(?P<fields>.*)$")


def events_of(text):
    """Returns {cpu: [((pid, time, name), {field: text})]}."""
    found = {}
    for line in text.splitlines():
        match = EVENT_LINE.match(line)
        assert match or line.startswith("#") or not line, f"not an event: {line!r}"
        if match:
            fields = dict(re.findall(r"(\w+)=(.*?)(?= \w+=| ==>|$)", match["fields"]))
            found.setdefault(int(match["cpu"]), []).append(((int(match["pid"]), float(match["time"]), match["name"]), fields))
    return found


def are_equal_events(one, other):
    """Times may differ by a step of the guest's clock between two reads of an event. Task states are not compared
    because `trace` shows them as letters, and leading zeros are ignored."""
    fields = {name for name in one[1].keys() & other[1].keys() if name != "prev_state"}
    values = [[event[1][name].lstrip("0") for name in fields] for event in (one, other)]
    (pid, time, name), (other_pid, other_time, other_name) = one[0], other[0]
    return (pid, name) == (other_pid, other_name) and abs(time - other_time) < 2e-5 and len(fields) >= 3 and values[0] == values[1]


def check_events(text, trace):
    """All lines of TEXT are in TRACE, in order, without others of the same vCPU in between, with equal fields."""
    theirs, nr = events_of(trace), 0
    for cpu, ours in events_of(text).items():
        all_ = theirs[cpu]
        first = min(range(len(all_)), key=lambda i: (abs(all_[i][0][1] - ours[0][0][1]), not are_equal_events(ours[0], all_[i])))
        part = all_[first : first + len(ours)]
        differ = [(a, b) for a, b in zip(ours, part) if not are_equal_events(a, b)]
        assert not differ and len(part) == len(ours), f"vCPU {cpu}: {len(ours)} events, {len(part)} in trace: {len(differ)}: {differ[:2]}"
        nr += len(ours)
    names = {key[2] for of_cpu_ in events_of(text).values() for key, _ in of_cpu_}
    assert nr > 100 and names == {word.split(":")[1] for word in EVENTS.split()}, (nr, names)
    return nr


def check_table(text):
    """Checks the table that examples/latency.py prints."""
    rows = [line.split() for line in text.splitlines()[1:]]
    names = {row[4] for row in rows}
    assert {"vfs_read", "vfs_write"} <= names and all(name == "do_exit" or name.startswith("vfs_") for name in names), text
    assert all(int(row[0]) > 0 and int(row[1]) <= int(row[0]) and 0 < float(row[2]) <= float(row[3]) for row in rows), text
    failed = {row[4]: int(row[1]) for row in rows}
    assert failed.get("vfs_statx", 0) > 0, f"no failed call for the missing file: {text}"


@case(configs=(Config("bookworm", vcpus=2),), sanitized=True)
def callbacks_agree_with_trace(t):
    """The examples of C and Python run at the same time, and each line is in `trace`. A program that is killed, and one
    whose session ends, leave nothing behind."""
    examples = Examples(t)
    with t.attach() as traced:
        t.hv("mkdir", traced.domain, "instances/all")
        traced.echo("instances/all/buffer_size_kb", "8192")
        traced.echo("instances/all/set_ftrace_filter", *FUNCTIONS.split())
        traced.echo("instances/all/current_tracer", "function")
        t.hv("mkdir", traced.domain, "instances/graph")
        for name, text in (("buffer_size_kb", "8192"), ("set_ftrace_filter", FUNCTIONS), ("options/funcgraph-proc", "1"),
                           ("options/funcgraph-tail", "1"), ("options/funcgraph-retval", "1"),
                           ("options/funcgraph-retval-hex", "1"), ("current_tracer", "function_graph")):
            traced.echo(f"instances/graph/{name}", *text.split())
        t.hv("mkdir", traced.domain, "instances/events")
        traced.echo("instances/events/buffer_size_kb", "8192")
        traced.echo("instances/events/set_event", *EVENTS.split())
        running = [examples.start(examples.c, traced.domain, FUNCTIONS, str(SECONDS)),
                   examples.start_python("functions.py", traced.domain, FUNCTIONS, str(SECONDS)),
                   examples.start(examples.graph, traced.domain, FUNCTIONS, str(SECONDS)),
                   examples.start_python("latency.py", traced.domain, FUNCTIONS, str(SECONDS)),
                   examples.start(examples.events, traced.domain, EVENTS, str(SECONDS)),
                   examples.start_python("execs.py", traced.domain, str(SECONDS)),
                   examples.start_python("opens.py", traced.domain, str(SECONDS)),
                   examples.start_python("sleepers.py", traced.domain, str(SECONDS))]
        while None in [process.poll() for process, _ in running]:
            t.guest.run("cat /proc/uptime; ls / >/dev/null; [ -e /nothing ]; echo x >/tmp/x", timeout=HANG_SECONDS)
        *texts, graph_text, table, event_text, execs, opens, sleeps = [end(*program) for program in running]
        traced.echo("instances/events/tracing_on", "0")
        nr_events = check_events(event_text, traced.text("instances/events/trace"))
        assert "/bin/busybox" in execs or "/bin/cat" in execs or "/proc/self/exe" in execs, execs
        assert re.search(r"^\d+\.\d{6} \S+-\d+ /proc/uptime$", opens, re.M) and re.search(r" /tmp/x$", opens, re.M), opens[:2000]
        stacks = re.findall(r"^\d+ \S+\n((?: {4}\S+\n)+)", sleeps, re.M)
        assert any("do_wait" in stack or "pipe_read" in stack for stack in stacks), sleeps[:3000]
        assert all(stack.split()[0].startswith(("__schedule", "schedule", "__traceiter", "preempt_schedule")) for stack in stacks), sleeps[:3000]
        assert not traced.text("dynamic_events"), traced.text("dynamic_events")
        t.hv("rmdir", traced.domain, "instances/events")
        traced.echo("instances/graph/tracing_on", "0")
        traced.echo("instances/all/tracing_on", "0")
        nr_graph = check_graph(graph_text, traced.text("instances/graph/trace"))
        check_table(table)
        t.hv("rmdir", traced.domain, "instances/graph")
        trace, lost = ftrace.parse(traced.text("instances/all/trace"))
        assert lost == 0, lost
        counts = [check_equal(text, trace) for text in texts]
        assert instances(t, traced) == ["all/"], instances(t, traced)
        t.hv("rmdir", traced.domain, "instances/all")
        assert traced.stat()["sites"]["patched"] == 0

        # A wrong filter is refused and changes nothing.
        failed = subprocess.run([examples.c, traced.domain, "vfs_read no_such_function", "1"], env=examples.env,
                                capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
        assert failed.returncode == 1 and "no_such_function" in failed.stderr, failed
        assert not instances(t, traced), instances(t, traced)
        assert traced.stat()["sites"]["patched"] == 0

        killed, _ = examples.start(examples.c, traced.domain, FUNCTIONS, "600")
        assert until(lambda: traced.stat()["sites"]["patched"] > 10), traced.stat()["sites"]
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        assert until(lambda: not instances(t, traced)), instances(t, traced)
        assert until(lambda: traced.stat()["sites"]["patched"] == 0), traced.stat()["sites"]

        killed, _ = examples.start_python("opens.py", traced.domain, "600")
        assert until(lambda: "do_sys_openat2" in traced.text("dynamic_events")), traced.text("dynamic_events")
        assert until(lambda: instances(t, traced)), instances(t, traced)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        assert until(lambda: not traced.text("dynamic_events")), traced.text("dynamic_events")

        ended = [examples.start(examples.c, traced.domain, FUNCTIONS, "600"),
                 examples.start_python("functions.py", traced.domain, FUNCTIONS, "600")]
        assert until(lambda: len(instances(t, traced)) == 2), instances(t, traced)
    for process, _ in ended:
        _, err = process.communicate(timeout=HANG_SECONDS)
        assert process.returncode == 1 and b"the session has ended" in err, (process.returncode, err)
    t.note(f"{counts[0]} calls in C and {counts[1]} in Python agree with trace, {nr_graph} of a graph, and {nr_events} events")
