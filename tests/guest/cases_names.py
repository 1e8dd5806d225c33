# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of tasks that change: by exec, by prctl, by a write to another thread's comm. Compared with the guest's own
tracefs."""

import collections
import re
import tempfile

from lib import ftrace
from lib.suite import IN_TURN, OLDEST, case

N = 50
SITE = "__x64_sys_getpgid"
# The names of `workload names N`, in order. It calls getpgid() N times under each name.
WORKLOAD = ("workload", "workload", "second", "renamed", "by-other-name")
OWN = "/sys/kernel/tracing"
SYS_GETPGID = 121
SHELL = "for i in $(seq 40); do cat /proc/uptime; done >/dev/null"
KERNELS = (*IN_TURN, OLDEST)


def by_name(text, function):
    """Returns {name: number of events of FUNCTION}. TEXT may be the output of `hvtrace report`."""
    found = re.findall(rf"^ *(\S+)-\d+ .*: (?:function: +)?{function}\b", text, re.M)
    return dict(collections.Counter(found))


def exits(text):
    """Returns {name: number of returns of getpgid()}."""
    found = re.findall(rf"^\s*(\S+)-\d+ .*: sys_exit: NR {SYS_GETPGID} = ", text, re.M)
    return dict(collections.Counter(found))


@case(configs=KERNELS)
def names_follow_exec_and_prctl(t):
    """Each task has in `trace` the name that the guest's own trace shows: the last one."""
    own, _ = ftrace.own_trace(t.guest, ("names", N), (SITE,), pid_filter=False)
    own = by_name(own, SITE)
    assert own == {"renamed": 2 * N, "by-other-name": 3 * N}, own
    with t.attach() as traced:
        text, _ = ftrace.hvtrace_trace(traced, t.guest, ("names", N), (SITE,), pid_filter=False)
        assert by_name(text, SITE) == own, (by_name(text, SITE), own)


@case(configs=KERNELS)
def names_follow_in_a_recording(t):
    """Recordings of one pid follow its names: trace.dat has the last one, text has the last one known when each line is
    written."""
    for to_file in (False, True):
        with t.attach() as traced, tempfile.TemporaryDirectory() as dir_:
            pid = ftrace.start_workload(t.guest, "names", N)
            path = f"{dir_}/trace.dat"
            words = ("-o", path) if to_file else ()
            process = t.hv.start("record", t.name, "-p", "function", "-l", SITE, "-P", str(pid), *words)
            t.await_record(process, "function")
            ftrace.go(t.guest, pid)
            out, _ = t.end_recording(process)
            text = t.hv("report", path) if to_file else out.decode()
            counts = by_name(text, SITE)
            assert sum(counts.values()) == 3 * N and counts.get("by-other-name", 0) >= N, (counts, text[:800])
            assert not to_file or counts == {"by-other-name": 3 * N}, counts


@case(configs=KERNELS)
def names_of_a_shells_programs(t):
    """A shell runs cat 40 times: the number of cat's calls equals the guest's own trace."""
    t.guest.run(f"cd {OWN} && echo vfs_open >set_ftrace_filter && echo >trace")
    t.guest.run_own(f"cd {OWN} && echo function >current_tracer")
    try:
        t.guest.run(SHELL)
        t.guest.run(f"echo 0 >{OWN}/tracing_on")
        own = by_name(t.guest.run(f"cat {OWN}/trace"), "vfs_open")["cat"]
    finally:
        t.guest.run_own(f"cd {OWN} && echo nop >current_tracer; echo >set_ftrace_filter; echo >trace; echo 1 >tracing_on")
    assert own >= 40, own
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_open")
        traced.echo("current_tracer", "function")
        t.guest.run(SHELL)
        traced.echo("tracing_on", "0")
        mine = by_name(traced.text("trace"), "vfs_open").get("cat")
        assert mine == own, (mine, own)
        t.note(f"{mine} calls of cat")


@case(configs=KERNELS[1:], further=KERNELS[:1])
def filters_by_name_follow(t):
    """A filter of COMM passes the same events as the guest's own filter, whatever the task's earlier names."""
    for name, expected in collections.Counter(WORKLOAD).items():
        pid = ftrace.start_workload(t.guest, "names", N)
        t.guest.run(
            f"cd {OWN} && echo >trace && echo 'COMM == \"{name}\" && id == {SYS_GETPGID}' >events/raw_syscalls/sys_exit/filter && "
            "echo 1 >events/raw_syscalls/sys_exit/enable"
        )
        ftrace.go(t.guest, pid)
        own = t.guest.run(
            f"cd {OWN} && echo 0 >events/raw_syscalls/sys_exit/enable && echo 0 >events/raw_syscalls/sys_exit/filter && "
            "grep -c sys_exit: trace; echo >trace"
        )
        assert int(own.split()[0]) == expected * N, own
        with t.attach() as traced:
            pid = ftrace.start_workload(t.guest, "names", N)
            traced.echo("events/raw_syscalls/sys_exit/filter", f'COMM == "{name}" && id == {SYS_GETPGID}')
            traced.echo("events/raw_syscalls/sys_exit/enable", "1")
            ftrace.go(t.guest, pid)
            traced.echo("events/raw_syscalls/sys_exit/enable", "0")
            text = traced.text("trace")
            assert sum(exits(text).values()) == expected * N, (name, exits(text))


@case(configs=KERNELS, sanitized=True)
def renames_outlive_a_kill(t):
    """Tasks can still be renamed after a kill of hvtrace, and recover restores the call that hvtrace redirected for
    that."""
    traced = t.attach()
    t.hv("attach", t.name)
    stat = traced.stat()
    assert "names_stay" not in stat, stat["names_stay"]
    traced.kill()
    t.guest.run(SHELL)
    name = t.guest.run("echo wanted >/proc/$$/comm; cat /proc/$$/comm")
    assert name.strip() == "wanted", name
    t.recover()
    t.guest.run(SHELL)
