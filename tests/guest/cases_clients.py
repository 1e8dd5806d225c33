"""Programs that know tracefs, unmodified, on a guest's tree."""

import collections
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

from lib.domain import Config
from lib.process import has_open
from lib.suite import Skip, case
from lib.wait import HANG_SECONDS, until

GUEST = (Config("bookworm", vcpus=2),)
WORK = "for i in 1 2 3 4 5; do cat /proc/uptime >/dev/null; ls / >/dev/null; done"


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            raise Skip(f"{program} is not installed")
    if not os.path.exists("/dev/fuse"):
        raise Skip("/dev/fuse is missing")


# In the PATH of clients: who sleeps so that something happens in the guest goes on when it has. WORKED grows by a byte
# with each WORK that is done, of which the first after the sleep began may have begun before.
SLEEP = """#!/bin/sh
case $1 in
[1-9]*) ;;
*) exec /bin/sleep "$@" ;;
esac
wanted=$(($(wc -c <{worked}) + ${{1%%.*}} + 1))
while [ -e {worked} ] && [ "$(wc -c <{worked})" -lt $wanted ]; do /bin/sleep 0.05; done
"""


def run_client(t, traced, *command, enough=None, work=WORK, timeout=400):
    """COMMAND under `hvtrace exec` while the guest works, whose sleeps last until it has: (status, stdout, stderr).
    As soon as ENOUGH(its output so far) it gets a ^C. It is ended after TIMEOUT."""
    with tempfile.TemporaryDirectory() as dir_:
        worked, out = f"{dir_}/worked", f"{dir_}/out"
        for name, text in ((worked, ""), (out, ""), (f"{dir_}/sleep", SLEEP.format(worked=worked))):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(f"{dir_}/sleep", 0o755)
        # Into a file: nobody empties a pipe while the guest works. All that the program starts get a ^C, as on a terminal.
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


@case(configs=GUEST)
def trace_cmd_records(t):
    """trace-cmd record, with splice, and report: the guest's functions by the guest's symbols."""
    need("trace-cmd")
    with tempfile.TemporaryDirectory() as work, t.attach() as traced:
        data = f"{work}/trace.dat"
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
        t.note(f"{len(lines)} events")


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
    """funccount of perf-tools: calls of the guest's functions, by the profile."""
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
    """kill -9 of the service under a mounted tree: readers end, the mount goes, recover restores."""
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
        os.kill(traced.stat()["service_pid"], signal.SIGKILL)
        reader.wait(HANG_SECONDS)
        assert until(lambda: not os.path.ismount(dir_))
        t.recover()
        t.hv("attach", traced.domain)


HERE = os.path.dirname(os.path.abspath(__file__))
ALL_SELF_TESTS = os.environ.get("HVTRACE_TEST_SELFTESTS") == "all"


def listed_self_tests():
    """selftests.list: {case or folder: (result, why)}"""
    found = {}
    with open(os.path.join(HERE, "selftests.list"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                result, name, *why = line.split(None, 2)
                assert result == "pass" or why, f"selftests.list: {name}: why not?"
                found[name] = (result, why[0].strip() if why else "")
    return found


def expected_self_tests(directory, listed):
    """{file of test.d: (result, why)} of those to be run, and the files that the list does not know."""
    expected, unknown = {}, []
    for top, _, files in sorted(os.walk(directory)):
        for name in sorted(os.path.relpath(os.path.join(top, file), directory) for file in files if file.endswith(".tc")):
            folder = name.split("/")[0] + "/"
            if name in listed and (ALL_SELF_TESTS or "the host's" not in listed[name][1]):
                expected[name] = listed[name]
            elif ALL_SELF_TESTS and name not in listed and folder in listed:
                expected[name] = listed[folder]
            elif name not in listed and folder not in listed:
                unknown.append(name)
    return expected, unknown


def description(path):
    """What ftracetest calls a test."""
    with open(path, encoding="utf-8") as file:
        return next(line.split(":", 1)[1].strip() for line in file if line.startswith("# description:"))


@case(configs=GUEST)
def kernel_self_tests(t):
    """The kernel's own tests of ftrace's interface come out as selftests.list says, no worse and no better."""
    need()
    fetched = subprocess.run([f"{HERE}/../../scripts/selftests"], capture_output=True, timeout=600, check=False)
    if fetched.returncode != 0:
        raise Skip("linux-source cannot be fetched: " + fetched.stderr.decode().strip().splitlines()[-1])
    tests = fetched.stdout.decode().split()[-1]
    expected, unknown = expected_self_tests(f"{tests}/test.d", listed_self_tests())
    names = {description(f"{tests}/test.d/{name}"): name for name in expected}
    assert len(names) == len(expected), "two tests with one description"
    with tempfile.TemporaryDirectory() as logs, t.attach() as traced:
        files = " ".join(f"test.d/{name}" for name in expected)
        script = f"cd {tests} && exec ./ftracetest -l {logs} {files}"
        _, out, err = run_client(t, traced, "sh", "-c", script, work="cat /proc/uptime", timeout=1200 if ALL_SELF_TESTS else 400)
        results = re.findall(r"^\[\d+\] *(\(instance\) *)?(.*?)\t\[(\w+)\]", out, re.M)
        wrong = []
        for _, said, result in results:
            result, (wanted, why) = result.lower(), expected[names[said]]
            if result != wanted:
                hint = ": update selftests.list" if result == "pass" else f" ({why})" if why else ""
                wrong.append(f"{names[said]}: {result}, listed as {wanted}{hint}")
        assert not wrong, "\n       ".join(wrong + [err[-500:]])
        assert {names[said] for _, said, _ in results} == set(expected), out[-2000:]
        traced.echo("current_tracer", "nop")
        count = collections.Counter(result.lower() for _, _, result in results)
        t.note(", ".join(f"{nr} {result}" for result, nr in sorted(count.items())))
        if unknown:
            t.note("not in selftests.list: " + ", ".join(unknown))
