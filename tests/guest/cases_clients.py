# SPDX-License-Identifier: GPL-2.0-or-later
"""Unmodified programs that use tracefs, on a guest's tree."""

import collections
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from lib.domain import Config
from lib.names import OWN
from lib.port import free_port
from lib.process import has_open
from lib.suite import Skip, case
from lib.tracecmd import LINE
from lib.wait import HANG_SECONDS, until

SYSCTL = "/proc/sys/kernel/stack_tracer_enabled"

GUEST = (Config("bookworm", vcpus=2),)
WORK = "for i in 1 2 3 4 5; do cat /proc/uptime >/dev/null; ls / >/dev/null; done"


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    if not os.path.exists("/dev/fuse"):
        raise Skip("/dev/fuse is missing")


# Replaces sleep in the PATH of clients: a client that sleeps to let the guest work continues after the guest has done
# so. WORKED grows by one byte for each finished WORK. The first byte may belong to a WORK that began before the sleep.
# The kernel's self-tests yield with `sleep .001` if there is no ping.
SLEEP = """#!/bin/sh
case $1 in
[1-9]*) seconds=${{1%%.*}} ;;
.001) seconds=1 ;;
*) exec /bin/sleep "$@" ;;
esac
wanted=$(($(wc -c <{worked}) + seconds + 1))
while [ -e {worked} ] && [ "$(wc -c <{worked})" -lt $wanted ]; do /bin/sleep 0.05; done
"""


def run_client(t, traced, *command, enough=None, work=WORK, timeout=400):
    """Runs COMMAND under `hvtrace exec` while the guest works. Its sleeps last until the guest has worked. It gets a ^C
    when ENOUGH(output) is true, and is killed after TIMEOUT. Returns (status, stdout, stderr)."""
    with tempfile.TemporaryDirectory() as dir_:
        worked, out = f"{dir_}/worked", f"{dir_}/out"
        programs = {"sleep": SLEEP.format(worked=worked), "ping": "#!/bin/sh\nexit 1\n"}
        for name, text in ((worked, ""), (out, ""), *((f"{dir_}/{name}", text) for name, text in programs.items())):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        for name in programs:
            os.chmod(f"{dir_}/{name}", 0o755)
        # Output goes into a file because no process reads a pipe while the guest works. The ^C is for all processes of
        # the program, as on a terminal.
        script = f'PATH={dir_}:$PATH exec setsid "$@" >{out}'
        process = t.hv.start("exec", traced.domain, "--", "sh", "-c", script, "sh", *command)
        deadline = time.monotonic() + timeout
        try:
            while process.poll() is None and time.monotonic() < deadline:
                t.guest.run(work)
                with open(worked, "a", encoding="utf-8") as file:
                    file.write(".")
                with open(out, encoding="utf-8", errors="replace") as file:
                    if enough and enough(file.read()):
                        enough = None
                        os.killpg(process.pid, signal.SIGINT)
                time.sleep(0.1)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        _, err = process.communicate(timeout=HANG_SECONDS)
        with open(out, encoding="utf-8", errors="replace") as file:
            return process.returncode, file.read(), err.decode(errors="replace")


@case(configs=GUEST, sanitized=True)
def trace_cmd_records(t):
    """trace-cmd record, with splice, and report: the guest's functions with the guest's symbols."""
    need("trace-cmd")
    with tempfile.TemporaryDirectory() as work, t.attach() as traced:
        data = f"{work}/trace.dat"
        holds = traced.stat()["holds"]["count"]
        status, out, err = run_client(t, traced, "trace-cmd", "record", "-o", data, "-p", "function", "-l", "vfs_*", "sleep", "4")
        assert status == 0, err
        done = subprocess.run(["trace-cmd", "report", "-i", data], capture_output=True, timeout=HANG_SECONDS, check=True)
        report = done.stdout.decode()
        lines = [line for line in report.splitlines() if " function: " in line]
        names = {re.split(r"function:\s+", line)[1].split()[0] for line in lines}
        assert len(lines) > 50, f"{len(lines)} lines: {out} {err} {report[:500]}"
        assert all(name.startswith("vfs_") for name in names), names
        assert {"vfs_open", "vfs_read"} <= names, names
        assert any(line.split("-")[0].strip() in ("cat", "ls", "sh", "init") for line in lines), lines[:5]
        assert traced.text("current_tracer") == "nop\n"
        # trace-cmd clears the filter before it sets nop. hvtrace must not patch all functions in between.
        holds = traced.stat()["holds"]["count"] - holds
        assert holds <= 12, f"{holds} holds"
        t.note(f"{len(lines)} events, {holds} holds")


@case(configs=GUEST)
def trace_cmd_streams(t):
    """trace-cmd stream shows a few events while it runs, although they fill only a small part of the buffer."""
    need("trace-cmd", "stdbuf")
    seen = []

    def enough(text):
        if text.count("vfs_open") >= 5 and not seen:
            seen.append(time.monotonic())
        return bool(seen)

    with t.attach() as traced:
        begun = time.monotonic()
        command = ("stdbuf", "-oL", "trace-cmd", "stream", "-p", "function", "-l", "vfs_open")
        _, out, err = run_client(t, traced, *command, enough=enough)
        assert seen, f"nothing was shown: {out[:500]} {err[-500:]}"
        lines = [line for line in out.splitlines() if " function: " in line]
        assert lines and all("vfs_open" in line for line in lines), out[:500]
        assert traced.text("current_tracer") == "nop\n"
    t.note(f"the fifth event {seen[0] - begun:.1f} s after the start")


def is_part(part, of):
    """Checks that the sequence of one vCPU's events in PART also occurs in OF. Times may differ by the correction of
    the clock global at a later tick. Guests whose counter is not trusted start with that clock."""

    def is_here(first):
        return [e[1::3] for e in of[first : first + len(part)]] == [e[1::3] for e in part]

    def differences(first):
        return [abs(float(a[3]) - float(b[3])) for a, b in zip(of[first:], part)]

    found = [differences(first) for first in range(len(of) - len(part) + 1) if is_here(first)]
    assert found and max(min(found, key=max)) < 50e-6, (len(part), len(of), part[:3], of[:3], [max(each) for each in found])


@case(configs=GUEST)
def trace_cmd_reads_our_files(t):
    """record -o: trace-cmd report shows the events in `trace`, with the guest's tasks, times and symbols."""
    need("trace-cmd")
    shown = re.compile(r"^\s*(.+)-(\d+)\s+\[(\d+)\] \S+\s+(\d+\.\d+): (\w+)")
    with tempfile.TemporaryDirectory() as work, t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        for name, words in (("t.dat", ()), ("z.dat", ("--compress",))):
            data = f"{work}/{name}"
            process = t.hv.start("record", "-p", "function", "-l", "vfs_*", "-o", data, *words, traced.domain)
            t.await_record(process, "function")
            for _ in range(3):
                t.guest.run(WORK)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=HANG_SECONDS)
            done = subprocess.run(["trace-cmd", "report", "-i", data], capture_output=True, timeout=HANG_SECONDS, check=True)
            got = [line for line in map(LINE.match, done.stdout.decode().splitlines()) if line]
            trace = traced.text("trace")
            wanted = [match.groups() for match in map(shown.match, trace.splitlines()) if match]
            recorded = [line.group("comm", "pid", "cpu", "time", "body") for line in got]
            assert len(got) > 50 and f"{len(got)} events, 0 lost" in err.decode(), (len(got), err)
            # A file has one name per task: the last one.
            extra = {event[:2] for event in recorded} - {event[:2] for event in wanted}
            assert not extra, (name, len(extra), sorted(extra)[:5])
            for cpu in {event[2] for event in recorded}:
                is_part([e for e in recorded if e[2] == cpu], [e for e in wanted if e[2] == cpu])
            lines = t.hv("report", data).splitlines()
            assert {match[5] for match in map(shown.match, lines) if match} == {"function"} and len(lines) == len(got), lines[:5]
            t.note(f"{name}: {len(got)} events, {os.stat(data).st_size >> 10} KiB")


def has_ended(path):
    """Returns whether the collector has written to PATH that a stream ended. PATH may not exist before."""
    try:
        with open(path, encoding="ascii") as file:
            return '"ended":"end"' in file.read()
    except FileNotFoundError:
        return False


@case(configs=GUEST)
def streams_arrive(t):
    """stream and collect on this host, by UDP and TCP: the collector's files have every event, with the guest's tasks
    and symbols."""
    need("trace-cmd")
    with tempfile.TemporaryDirectory() as work, t.attach() as traced:
        where = f"127.0.0.1:{free_port()}"
        with open(os.open(f"{work}/key", os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(os.urandom(32))
        collector = t.hv.start("collect", f"--key={work}/key", f"--listen={where}", work)
        # Frames sent before it listens are lost.
        assert until(lambda: subprocess.run(["ss", "-Huln", "src", where], capture_output=True).stdout)
        for nr, words in enumerate((("--compress",), ("--tcp",))):
            process = t.hv.start("stream", "-p", "function", "-l", "vfs_*", f"--key={work}/key", f"--to={where}", *words, traced.domain)
            assert until(lambda nr=nr: len(glob.glob(f"{work}/*/*.dat")) == nr + 1 or process.poll() is not None)
            for _ in range(3):
                t.guest.run(WORK)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate(timeout=HANG_SECONDS)
            data = max(glob.glob(f"{work}/*/*.dat"), key=os.path.getmtime)
            assert until(lambda data=data: has_ended(data + ".json"))
            with open(data + ".json", encoding="ascii") as file:
                counts = json.load(file)
            done = subprocess.run(["trace-cmd", "report", "-i", data], capture_output=True, timeout=HANG_SECONDS, check=True)
            got = [line for line in map(LINE.match, done.stdout.decode().splitlines()) if line]
            assert len(got) > 50 and len(got) == counts["events"] and counts["lost"] == 0, (len(got), counts)
            assert f"{len(got)} events, 0 lost" in err.decode(), (len(got), err)
            assert {line["body"].split()[0][:4] for line in got} == {"vfs_"} and {"cat", "ls"} & {line["comm"] for line in got}, got[:5]
            t.note(f"{words[0]}: {len(got)} events")
        collector.send_signal(signal.SIGTERM)
        collector.communicate(timeout=HANG_SECONDS)
        assert collector.returncode == 0


@case(configs=GUEST)
def trace_cmd_starts_and_stops(t):
    """trace-cmd start, show, stop, reset."""
    need("trace-cmd")
    with t.attach() as traced:
        for words in (("start", "-p", "function", "-l", "vfs_open"), ("stop",)):
            status, out, err = run_client(t, traced, "trace-cmd", *words)
            assert status == 0, (words, out, err)
            t.guest.run(WORK)
        assert traced.text("tracing_on") == "0\n"
        status, out, err = run_client(t, traced, "trace-cmd", "show")
        assert status == 0 and "vfs_open <-" in out, (out[-500:], err)
        status, out, err = run_client(t, traced, "trace-cmd", "reset")
        assert status == 0, err
        assert traced.text("current_tracer") == "nop\n"
        assert traced.text("set_ftrace_filter") == "#### all functions enabled ####\n"


@case(configs=GUEST)
def perf_tools_trace(t):
    """functrace and funcgraph of perf-tools, ended by ^C."""
    need("functrace-perf", "funcgraph-perf")
    with t.attach() as traced:
        for program, says in (("functrace-perf", "vfs_open <-"), ("funcgraph-perf", "vfs_open() {")):
            status, out, err = run_client(t, traced, program, "vfs_open", enough=lambda out: says in out)
            assert says in out, (program, status, out[-500:], err)
            assert traced.text("current_tracer") == "nop\n"


@case(configs=GUEST)
def perf_tools_count(t):
    """funccount of perf-tools: calls of the guest's functions, from the profile."""
    need("funccount-perf")
    with t.attach() as traced:
        status, out, err = run_client(t, traced, "funccount-perf", "-d", "3", "vfs_*")
        rows = dict(line.split() for line in out.splitlines() if line.startswith("vfs_"))
        assert status == 0 and int(rows.get("vfs_open", 0)) > 10 and int(rows.get("vfs_read", 0)) > 10, (status, out, err)
        assert traced.text("function_profile_enabled") == "0\n"
        assert traced.text("set_ftrace_filter") == "#### all functions enabled ####\n"
        t.note(f"{len(rows)} functions")


@case(configs=GUEST)
def a_killed_service_leaves_no_mount(t):
    """kill -9 of the service of a mounted tree: reads end, the tree is unmounted, recover restores the guest."""
    need()
    with tempfile.TemporaryDirectory() as dir_, t.attach("--mount=" + dir_) as traced:
        assert traced.text("current_tracer") == "nop\n"
        with open(f"{dir_}/set_ftrace_filter", "w", encoding="utf-8") as file:
            file.write("vfs_read\n")
        with open(f"{dir_}/current_tracer", "w", encoding="utf-8") as file:
            file.write("function\n")
        pipe = f"{dir_}/trace_pipe"
        reader = subprocess.Popen(["cat", pipe], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert until(lambda: has_open(reader.pid, pipe) or reader.poll() is not None) and reader.poll() is None, "cat has ended"
        t.hv.kill_session(t.name)
        reader.wait(HANG_SECONDS)
        assert until(lambda: not os.path.ismount(dir_))
        t.recover()
        t.hv("attach", traced.domain)


HERE = os.path.dirname(os.path.abspath(__file__))
SELF_TESTS = os.environ.get("HVTRACE_TEST_SELFTESTS", "").split()
ALL_SELF_TESTS = SELF_TESTS == ["all"]


def listed_self_tests():
    """Parses selftests.list: {case or folder: (result, why)}."""
    found = {}
    with open(os.path.join(HERE, "selftests.list"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                result, name, *why = line.split(None, 2)
                assert result == "pass" or why, f"selftests.list: {name}: no reason given"
                found[name] = (result, why[0].strip() if why else "")
    return found


def expected_self_tests(directory, listed):
    """Returns {file of test.d: (result, why)} of the tests to run, and the files missing from the list."""
    expected, unknown = {}, []
    for top, _, files in sorted(os.walk(directory)):
        for name in sorted(os.path.relpath(os.path.join(top, file), directory) for file in files if file.endswith(".tc")):
            folder = name.split("/")[0] + "/"
            if SELF_TESTS and not ALL_SELF_TESTS and name not in SELF_TESTS:
                continue
            if name in listed and (SELF_TESTS or not re.search("the host's|^long", listed[name][1])):
                expected[name] = listed[name]
            elif SELF_TESTS and name not in listed and folder in listed:
                expected[name] = listed[folder]
            elif name not in listed and folder not in listed:
                unknown.append(name)
    return expected, unknown


def description(path):
    """Returns the name that ftracetest prints for a test, by printf(1)."""
    with open(path, encoding="utf-8") as file:
        said = next(line.split(":", 1)[1].strip() for line in file if line.startswith("# description:"))
    return said.replace("%%", "%")


@case(configs=GUEST)
def kernel_self_tests(t):
    """The kernel's own tests of ftrace's interface have exactly the results in selftests.list."""
    need()
    fetched = subprocess.run([f"{HERE}/../../scripts/selftests"], capture_output=True, timeout=600, check=False)
    if fetched.returncode != 0:
        raise Skip("linux-source cannot be fetched: " + fetched.stderr.decode().strip().splitlines()[-1])
    tests = fetched.stdout.decode().split()[-1]
    expected, unknown = expected_self_tests(f"{tests}/test.d", listed_self_tests())
    names = collections.defaultdict(list)
    for name in expected:
        names[description(f"{tests}/test.d/{name}")].append(name)
    for said, same in names.items():
        assert len({expected[name][0] for name in same}) == 1, f"tests with one description and different results: {same}: {said}"
    with tempfile.TemporaryDirectory() as logs, t.attach() as traced:
        files = " ".join(f"test.d/{name}" for name in expected)
        # Adds the stack tracer's sysctl, which some hosts' kernels lack, to the existing sysctls.
        switch = (
            f"[ -e {SYSCTL} ] || {{ mkdir {logs}/kernel && mount --bind /proc/sys/kernel {logs}/kernel && mount -t tmpfs none /proc/sys/kernel && "
            f"ln -s {logs}/kernel/* /proc/sys/kernel && ln -s {OWN}/stack_tracer_enabled {SYSCTL}; }}"
        )
        script = f"{switch}; cd {tests} && exec ./ftracetest -l {logs} {files}"
        _, out, err = run_client(t, traced, "sh", "-c", script, work="cat /proc/uptime", timeout=1800 if ALL_SELF_TESTS else 900)
        results = re.findall(r"^\[\d+\] *(\(instance\) *)?(.*?)\t\[(\w+)\]", out, re.M)
        wrong, by_chance = [], []
        for _, said, result in results:
            result, (wanted, why) = result.lower(), expected[names[said][0]]
            if result == "pass" and wanted == "fail" and "the host's" in why:
                by_chance.append(names[said][0])  # it mistook the guest's activity for its own
            elif result != wanted:
                hint = ": update selftests.list" if result == "pass" else f" ({why})" if why else ""
                wrong.append(f"{' or '.join(names[said])}: {result}, listed as {wanted}{hint}")
        assert not wrong, "\n       ".join(wrong + [err[-500:]])
        assert {name for _, said, _ in results for name in names[said]} == set(expected), out[-2000:]
        traced.echo("current_tracer", "nop")
        count = collections.Counter(result.lower() for _, _, result in results)
        t.note(", ".join(f"{nr} {result}" for result, nr in sorted(count.items())))
        if by_chance:
            t.note("passed because of the guest's activity: " + ", ".join(sorted(set(by_chance))))
        if unknown:
            t.note("not in selftests.list: " + ", ".join(unknown))
