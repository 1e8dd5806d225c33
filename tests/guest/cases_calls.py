"""Calls and returns, against the guest's own function_graph, and what a guest does meanwhile."""

import os
import signal
import time

from lib import calls, ftrace
from lib.suite import ONE_VCPU, STANDARD, case

ROUNDS = 20
FILTERS = ("vfs_*", "ksys_*", "*pipe*", "__x64_sys_*")
SWITCHES = int(os.environ.get("HVTRACE_TEST_SWITCHES", "5"))
TRACERS = ("function_graph", "function", "function_graph", "nop")


def first_difference(one, other):
    at = next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
    return f"from step {at + 1}: {one[at:at + 4]} and {other[at:at + 4]}"


@case()
def graph_agrees_with_own_filtered(t):
    """The same workload, a few globs: the same calls and returns at the same depths, in the same
    order."""
    own, own_pid = calls.own_trace(t.guest, ("syscalls", ROUNDS), FILTERS)
    with t.attach() as traced:
        ours, our_pid = calls.hvtrace_trace(traced, t.guest, ("syscalls", ROUNDS), FILTERS)
    one, other = calls.rounds(own, own_pid), calls.rounds(ours, our_pid)
    assert len(one) > 20 * ROUNDS, f"only {len(one)} steps traced by the guest itself"
    assert one == other, f"{len(one)} steps by the guest, {len(other)} by hvtrace; {first_difference(one, other)}"
    t.note(f"{len(one)} calls and returns agree, in order")


@case(configs=ONE_VCPU)
def graph_agrees_with_own_tree(t):
    """All functions below vfs_read: the tree that the guest's own tracer sees most often is the one
    that hvtrace does (an interrupt in it makes another one)."""
    own, own_pid = calls.own_trace(t.guest, ("syscalls", ROUNDS), (), ("vfs_read",))
    with t.attach() as traced:
        ours, our_pid = calls.hvtrace_trace(traced, t.guest, ("syscalls", ROUNDS), (), ("vfs_read",))
    own_trees = calls.trees(own, own_pid, "vfs_read")
    our_trees = calls.trees(ours, our_pid, "vfs_read")
    assert own_trees and our_trees, f"{len(own_trees)} trees by the guest, {len(our_trees)} by hvtrace"
    # A round reads a file and a pipe: two trees.
    for tree, nr in own_trees.most_common(2):
        nearest = our_trees.most_common(1)[0][0]
        assert our_trees[tree] >= nr // 2, (
            f"a tree of {len(tree)} steps: {nr} times by the guest, {our_trees[tree]} times by hvtrace; "
            f"against its commonest {first_difference(tree, nearest)}"
        )
    t.note(f"trees of {' and '.join(str(len(tree)) for tree, _ in own_trees.most_common(2))} steps agree")


@case(configs=(STANDARD[0], STANDARD[2]))
def graph_is_balanced(t):
    """All functions, forks and threads: every return is that of the call that is open on its task."""
    with t.attach() as traced:
        for option in calls.OPTIONS:
            traced.echo(f"options/{option}", "1")
        traced.echo("current_tracer", "function_graph")
        for words in (("forkstorm", 20), ("threads", 300)):
            ftrace.go(t.guest, ftrace.start_workload(t.guest, *words), timeout=120)
        traced.echo("tracing_on", "0")
        text = traced.text("trace", timeout=300)
    wrong, right = calls.unmatched(text)
    assert right > 10000, f"only {right} returns"
    assert not wrong, f"{len(wrong)} of {right + len(wrong)} returns are of other calls: {wrong[:3]}"
    t.note(f"{right} returns")


@case(configs=(STANDARD[0], STANDARD[2]))
def graph_ends_with_sleepers(t):
    """Tasks that sleep in traced functions: detach puts their return addresses back; they go on and
    end well. Likewise after the service was killed."""
    for killed in (False, True):
        t.guest.run("rm -f /tmp/s.out; (sleep 4; echo slept >>/tmp/s.out) >/dev/null 2>&1 &")
        t.guest.run("(cat </dev/zero | sleep 4; echo piped >>/tmp/s.out) >/dev/null 2>&1 &")
        traced = t.attach().__enter__()
        traced.echo("current_tracer", "function_graph")
        t.guest.run("(sleep 3; echo inside >>/tmp/s.out) >/dev/null 2>&1 &")
        time.sleep(0.5)
        verb = "detach"
        if killed:
            verb = "recover"
            os.kill(traced.stat()["service_pid"], signal.SIGKILL)
            time.sleep(0.5)
        for _ in range(10):
            status, out, err = t.hv.run(verb, traced.domain)
            if status == 0:
                break
            time.sleep(0.3)
        assert status == 0, f"{verb}: {err}"
        words = out.decode()
        assert "return addresses on the kernel's stacks put back" in words, f"{verb} said: {words}"
        text = t.guest.run("sleep 5; cat /tmp/s.out")
        for word in ("slept", "piped", "inside"):
            assert word in text, f"a task that slept did not end: {text!r}"


@case(configs=(STANDARD[0], STANDARD[2]))
def graph_torture(t):
    """Forks, threads, signals, reads of /proc, modules and load on all vCPUs, while the tracer is
    switched and hvtrace comes and goes. HVTRACE_TEST_SWITCHES: how often."""
    t.guest.run(
        "(workload forkstorm 100000000 >/dev/null 2>&1 & echo $! >>/tmp/t.pids); "
        "(workload threads 100000000 >/dev/null 2>&1 & echo $! >>/tmp/t.pids); "
        "(while sleep 0.2; do ls -lR /proc/self >/dev/null 2>&1; done & echo $! >>/tmp/t.pids); "
        "(while sleep 0.2; do insmod /modules/dummy.ko; rmmod dummy; done >/dev/null 2>&1 & echo $! >>/tmp/t.pids); "
        "sleep 0.5; killall -USR1 workload"
    )
    made, returns = 0, 0
    try:
        while made < SWITCHES:
            with t.attach() as traced:
                for tracer in TRACERS:
                    traced.echo("current_tracer", tracer)
                    made += 1
                    time.sleep(0.2)
                    t.guest.run("cat /proc/uptime")
                traced.echo("current_tracer", "function_graph")
                made += 1
                stat = traced.stat()
                returns += stat["events"]
    finally:
        t.guest.run("kill $(cat /tmp/t.pids); killall workload; rm -f /tmp/t.pids; sleep 1; rmmod dummy 2>/dev/null; true")
    t.note(f"{made} switches, {returns} events")
