# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel without ftrace: functions are traced by detours at their entries. The guest's kernel is Debian's. The names of
the variables that lead to ftrace's records are changed in guest memory, so that hvtrace does not find ftrace; the guest's
own ftrace still works, and counts the same calls."""

import contextlib
import json

from cases_beside import kill, victims
from lib import ftrace
from lib.memory import Memory
from lib.suite import IN_TURN, ONE_VCPU, case
from lib.wait import until

HIDDEN = ("ftrace_pages_start", "ftrace_stub")
PATTERNS = ("vfs_", "ksys_", "anon_pipe_", "pipe_", "__fdget", "mutex_", "new_sync_", "fsnotify", "rw_verify", "security_file", "file_")
ROUNDS = 20
SEVERAL = 200


@contextlib.contextmanager
def without_ftrace(t):
    """Hides ftrace from hvtrace until the block ends."""
    memory = Memory(t.guest)
    changes = memory.rename_symbols(HIDDEN)
    try:
        yield
    finally:
        for at, before in changes:
            memory.write_image(at, before)
        memory.close()


def names_of(text):
    return [line.split()[0] for line in text.splitlines() if line and "[" not in line]


def compared(ours, own):
    """Returns names of functions that are unique in both lists, and that the workload calls. The last one is the function
    that each round calls once."""
    once = {name for name in ours if ours.count(name) == 1 and own.count(name) == 1}
    names = sorted(name for name in once if name.startswith(PATTERNS) and name != ftrace.ROUND)
    assert ftrace.ROUND in once, f"{ftrace.ROUND} cannot be traced"
    return (*names[:SEVERAL], ftrace.ROUND)


@case(configs=(), further=(*IN_TURN[::-1], *ONE_VCPU), sanitized=True)
def functions_without_ftrace(t):
    """Some hundred functions have the calls that the guest's own ftrace records, in the same order. check gives the number
    of functions and the reasons of the others. What needs ftrace is refused by name. recover restores the jumps of a
    killed session, and so does the broker of a killed service."""
    pattern = "|".join((*PATTERNS, ftrace.ROUND))
    own_names = names_of(t.guest.run(f"grep -E '^({pattern})' /sys/kernel/tracing/available_filter_functions", timeout=120))
    with without_ftrace(t):
        found = json.loads(t.hv("check", "--json", t.name))
        sites = found["sites"]
        assert found["traceable"] and sites["total"] + sum(sites["untraceable"].values()) == sites["functions"], sites
        with t.attach() as traced:
            names = names_of(traced.text("available_filter_functions"))
            assert len(names) == sites["total"] > 10000, (len(names), sites)
            tracers = traced.text("available_tracers").split()
            assert "function" in tracers and "function_graph" not in tracers, tracers
            filters = compared(names, own_names)
            t.hv.fails("echo", t.name, "current_tracer", "function", says=("at most 1024", "set_ftrace_filter"))
            t.hv.fails("echo", t.name, "set_ftrace_filter", "vfs_read:traceoff", says=("not supported yet for kernels without ftrace",))
    own, own_pid = ftrace.own_trace(t.guest, ("syscalls", ROUNDS), filters)
    one = ftrace.rounds(ftrace.parse(own)[0], own_pid)
    with without_ftrace(t):
        with t.attach() as traced:
            ours, our_pid = ftrace.hvtrace_trace(traced, t.guest, ("syscalls", ROUNDS), filters)
            events, lost = ftrace.parse(ours)
            assert lost == 0 and len(one) > 3 * ROUNDS, (lost, len(one))
            assert one == ftrace.rounds(events, our_pid), f"{len(one)} calls by the guest, {len(events)} events by hvtrace"
            traced.echo("set_ftrace_pid", "")
            traced.echo("set_ftrace_filter", *names[::50][:1000])
            traced.echo("current_tracer", "function")
            traced.echo("tracing_on", "1")
            t.guest.run("ls -lR /proc/self >/dev/null; true")
            stat = json.loads(t.hv("stat", "--json", t.name))
            assert stat["sites"]["patched"] > 500 and not stat["sites"]["refused"], stat["sites"]
            patched, seen = stat["sites"]["patched"], {event.function for event in ftrace.parse(traced.text("trace"))[0]}
            assert len(seen) > 20, seen
            traced.echo("set_ftrace_filter", "vfs_read", "vfs_write")
            stat = json.loads(t.hv("stat", "--json", t.name))
            assert stat["sites"]["patched"] == 2, stat["sites"]
            traced.kill()
            assert "restored" in t.hv("recover", t.name)
            t.hv("attach", t.name)  # the end of the block detaches
        t.hv("attach", t.name)
        t.hv("echo", t.name, "set_ftrace_filter", "vfs_*")
        t.hv("echo", t.name, "current_tracer", "function")
        kill(victims(t)["service"])
        assert until(lambda: not t.hv.run_dirs(t.name)), t.hv.run_dirs(t.name)
        assert "nothing to recover" in t.hv("recover", t.name)
    t.note(f"{len(one)} calls of {len(filters)} functions agree; {patched} other functions, of which {len(seen)} were called; "
           f"{sites['total']} of {sites['functions']} functions can be traced")  # fmt: skip
