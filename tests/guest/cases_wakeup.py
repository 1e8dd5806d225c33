# SPDX-License-Identifier: GPL-2.0-or-later
"""The tracers wakeup, wakeup_rt and wakeup_dl, in kernels that were built without them: compared with the guest's own
scheduler events."""

import re

from cases_latency import load_planted, longest
from lib.domain import Config
from lib.suite import KERNELS, case
from lib.wait import until

OWN = "/sys/kernel/tracing"
# An instruction takes a nanosecond in these guests. Their module planted uses no tracepoints.
COUNTED = [Config(kernel, 1, counted=True, cmdline="audit=0") for kernel in KERNELS]
SEVERAL = (Config(KERNELS[1], 2, cmdline="audit=0"),)
SECTION = 2000000  # about the ns with preemption off, while woken tasks wait
EVENTS = ("sched_wakeup", "sched_wakeup_new", "sched_switch")
TRACERS = (("wakeup", "urgent", "nice:-10 policy:0"), ("wakeup_rt", "realtime", "rt_prio:30"), ("wakeup_dl", "deadline", "policy:6"))

LINE = re.compile(r"^.*-(\d+) +\[(\d+)\] \S+ +([\d.]+): (\w+): (.*)$", re.M)
HEAD = re.compile(
    r"# tracer: (?P<tracer>\w+)\n#\n# (?P=tracer) latency trace v1.1.5 on (?P<release>\S+)\n# -+\n"
    r"# latency: (?P<us>\d+) us, #(?P<nr>\d+)/(?P=nr), CPU#(?P<cpu>\d+) \| \(M:\S+ VP:0, KP:0, SP:0 HP:0 #P:\d+\)\n"
    r"#    -+\n#    \| task: (?P<comm>.{1,15})-(?P<pid>\d+) \((?P<of>.*)\)\n#    -+\n#\n"
)
WOKEN = re.compile(r" +0us.: +(\d+): *(\d+):(\w)   \+ \[(\d+)\] +(\d+): *(\d+):R (.*)$", re.M)
SWITCHED = re.compile(r" +(\d+)us : +(\d+): *(\d+):(\w) ==> \[(\d+)\] +(\d+): *(\d+):R (.*)$", re.M)


def number(text, field):
    return int(re.search(rf"\b{field}=(-?\d+)", text).group(1))


def waits(text, tracer):
    """Returns [(us, pid)] of the waits that the kernel's tracer would have found in the guest's own trace of the
    events: trace_sched_wakeup.c in a few lines."""
    running, followed, found = {}, None, []
    for current, cpu, time, event, rest in LINE.findall(text):
        us = float(time) * 1e6
        if event == "sched_switch":
            pid = number(rest, "next_pid")
            running[cpu] = (pid, number(rest, "next_prio"))
            if followed and followed[0] == pid:
                found.append((us - followed[2], pid))
                followed = None
        elif event in EVENTS:
            pid, prio = number(rest, "pid"), number(rest, "prio")
            by = 120 if current == "0" else running[cpu][1] if running.get(cpu, (None,))[0] == int(current) else None
            if (followed and followed[1] < 0) or (tracer != "wakeup" and prio >= 100) or (tracer == "wakeup_dl" and prio >= 0):
                continue
            if prio >= 0 and (by is None or prio >= by or (followed and prio >= followed[1])):
                continue
            followed = (pid, prio, us)
    return found


def own_events(t, on):
    switches = "".join(f"echo {on} >events/sched/{event}/enable; " for event in EVENTS)
    t.guest.run(f"cd {OWN}; {'echo 8000 >buffer_size_kb; echo >trace; ' if on else ''}{switches}")


def check_worst(t, traced, tracer, mode):
    """A task waits while preemption is off. The worst wait must be the one in the guest's own events."""
    traced.echo("tracing_max_latency", "0")
    own_events(t, 1)
    said = t.guest.run(f"(workload {mode} 60 >/dev/null &); sleep 0.01; for i in 1 2 3; do planted preempt {SECTION // 80}; done; sleep 0.1")
    us, text = longest(traced), traced.text("trace")
    own_events(t, 0)
    expected = waits(t.guest.run(f"cat {OWN}/trace"), tracer)
    worst = max(expected, default=(0, 0))
    planted = max(int(ns) for ns in re.findall(r"ns (\d+)", said)) / 1000
    t.note(f"{tracer}: {us} us, by {len(expected)} waits of the guest's own events {worst[0]:.0f} us; planted {planted:.0f} us")
    head, woken, switched = HEAD.match(text), WOKEN.search(text), SWITCHED.search(text)
    assert head and woken and switched, text
    assert abs(us - worst[0]) <= 10 and worst[0] > 100, f"{us} us, {worst}: {text}"
    near = {pid for found, pid in expected if found >= us - 20}
    assert int(head["pid"]) in near and head["pid"] == woken[5] == switched[6], f"{worst}: {text}"
    assert int(head["us"]) == us and abs(int(switched[1]) - us) <= 1 and head["tracer"] == tracer, text
    assert text.count(" + [") == text.count("==>") == 1 and int(head["nr"]) == 2, text
    return head, text


@case(configs=COUNTED[1:], sanitized=True)
def wakeup_finds_the_worst_wait(t):
    """Tasks of each kind are woken while preemption is off. Each tracer keeps the worst wait of its kind, with its
    task, both records and the length according to the guest's own events. With function-trace it has the calls
    during the wait."""
    load_planted(t, "tracepoints=0")
    with t.attach() as traced:
        assert {tracer for tracer, *_ in TRACERS} <= set(traced.text("available_tracers").split())
        for tracer, mode, of in TRACERS:
            traced.echo("current_tracer", tracer)
            head, text = check_worst(t, traced, tracer, mode)
            assert head["comm"] != "workload" or of in head["of"], text
            assert tracer == "wakeup" or head["comm"] == "workload", text
        t.hv.fails("cat", t.name, "snapshot", says=("wakeup_dl keeps its longest wait",))
        assert traced.text("events/sched/sched_switch/enable") == "0\n"
        traced.echo("current_tracer", "wakeup_rt")
        traced.echo("set_ftrace_filter", "tick_program_event", "rcu_note_context_switch")
        traced.echo("options/function-trace", "1")
        t.guest.run(f"(workload realtime 60 >/dev/null &); sleep 0.01; planted preempt {SECTION // 80}; sleep 0.1")
        text = traced.text("trace")
        calls = re.findall(r"us.: (\w+) <-", text)
        assert calls and int(HEAD.match(text)["nr"]) == len(calls) + 2, text
        traced.echo("options/function-trace", "0")
        traced.echo("current_tracer", "nop")
        assert traced.text("trace_options").split().count("nolatency-format") == 1
        us = longest(traced)
        t.guest.run("workload realtime 20")
        assert longest(traced) == us, "the maximum changed after the tracer had ended"


@case(configs=SEVERAL)
def wakeup_of_several_cpus(t):
    """Tasks are woken on other vCPUs than they run on. An instance has the tracer and a separate maximum, and the top
    does not."""
    with t.attach() as traced:
        t.hv("mkdir", t.name, "instances/a")
        traced.echo("instances/a/current_tracer", "wakeup_rt")
        t.hv.fails("echo", t.name, "current_tracer", "wakeup", says=("instances/a already traces wakeup_rt",))
        t.guest.run("workload realtime 100 >/dev/null & workload realtime 100 >/dev/null & wait; sleep 0.1")
        seen = []

        def are_of_one_wait():
            """Between the two reads, a kernel task, such as the watchdog's migration/N, may wait for longer."""
            seen[:] = traced.text("instances/a/trace"), traced.text("instances/a/tracing_max_latency")
            head = HEAD.match(seen[0])
            return head and seen[1] == f"{head['us']}\n"

        assert until(are_of_one_wait), seen
        text = seen[0]
        head = HEAD.match(text)
        assert int(head["us"]) > 0 and WOKEN.search(text) and SWITCHED.search(text), text
        t.note(f"{head['us']} us of {head['comm']}")
        assert longest(traced) == 0
        assert traced.text("trace").count("==>") == 0
        t.hv("rmdir", t.name, "instances/a")
        assert traced.text("set_event") == ""
