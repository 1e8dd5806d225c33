# SPDX-License-Identifier: GPL-2.0-or-later
"""Filters of the guest's own events, compared with the guest's own tracefs."""

import collections

from cases_events import WORK, agree, alike, events_of
from lib.suite import OLDEST, ONE_VCPU, case
from lib.wait import until

OWN = "/sys/kernel/tracing"
# Valid and invalid filters that all kernels from 5.10 on parse alike.
EXPRESSIONS = r"""
prev_pid == 1
prev_pid==1&&next_pid!=0x10
 prev_pid == 1 || (next_pid == 0 && !(prev_prio < 100))
!!(prev_pid > -1)
prev_comm == "init" || next_comm ~ 'busy*'
prev_comm ~ "*x" && next_comm ~ "a?c[d-f]\*"
common_pid >= 017 && CPU == 0 && cpu < 4 && COMM != "x" && comm ~ "*y*"
prev_state & 0x401
0
no_such == 1
prev_pid == 1 && no_such == 1
prev_pid
prev_pid = 1
prev_pid === 1
prev_pid ==
prev_pid == init
prev_pid == 0x
prev_pid == 08
prev_pid == 99999999999999999999
prev_pid == 123456789012345678901234567890
common_preempt_count == -1
prev_pid == -
prev_pid ~ 1
prev_pid ~ "1"
prev_pid == "1"
prev_comm == 1
prev_comm < "a"
prev_comm & "a"
prev_comm == "a
prev_comm == 'a"
prev_comm == "a" && "
prev_pid && next_pid
prev_pid & & next_pid
prev_pid == 1 & next_pid == 1
prev_pid == 1 next_pid == 1
prev_pid == 1 && && next_pid == 1
prev_pid == 1 &&& next_pid == 1
prev_pid == 1 | next_pid == 1
(prev_pid == 1
((prev_pid == 1) || (next_pid == 1)
prev_pid == 1)
(prev_pid == 1)) || (next_pid == 1)
(prev_pid == 1) (next_pid == 1)
()
(prev_pid == 1 && )
!
! !
&&
|| prev_pid == 1
&
== 1
CPU ~ 1
CPU == "1"
CPU == -1
COMM == 1
COMM < "x"
comm == x
prev_pid.x == 1
prev-pid == 1
"prev_pid" == 1
prev_pid == 1;
none
"""
# Since 6.6.
OF_CPUS = r"""
CPU == CPUS{0}
CPU & CPUS{0-1}
cpu != CPUS{all}
CPU < CPUS{0}
prev_pid & CPUS{0}
prev_comm == CPUS{0}
CPU & CPUS
CPU & CPUS 0
CPU & CPUS{0
CPU & CPUS{}
CPU & CPUS{x}
CPU & CPUS{1-0}
CPU & CPUS{99999}
CPU & CPUS{0:1/2,0}
CPU & CPUS{0-}
CPU ~ CPUS{0}
"""
# Also since 6.6, all on timer/hrtimer_expire_entry.
OF_FUNCTIONS = r"""
function.function == hrtimer_wakeup
function.function != hrtimer_wakeup && now > 0
function.function == no_such_function
function.function > hrtimer_wakeup
function.function == 0x1
function.function == 0xzz
common_pid.function == hrtimer_wakeup
now.no_such == 1
hrtimer.function == (
"""
TRY = """
cd {own}
while IFS= read -r filter; do
	echo >error_log
	echo "== $filter"
	echo "$filter" 2>&1 >{file} || echo refused
	sed '' {file}
	sed 's/^\\[.*\\] //' error_log
done <<'END'
{filters}
END
echo 0 >{file}; sed '' {file}; echo >error_log
"""


def try_both(t, file, filters):
    """Writes each of FILTERS to FILE of the guest's own tracefs and of hvtrace's: the errors, the contents of the files
    afterwards, and error_log are equal."""
    command = TRY.format(own=OWN, file=file, filters=filters.strip("\n"))
    own = t.guest.run(command)
    ours = t.hv("exec", t.name, "busybox", "sh", "-c", command, timeout=300)
    own, ours = ([part.rstrip() for part in text.split("\n== ")] for text in (own, ours))
    differences = [f"own:\n{a}\nhvtrace:\n{b}" for a, b in zip(own, ours, strict=True) if a != b]
    assert not differences, f"{len(differences)} of {len(own)} filters of {file} differ:\n" + "\n".join(differences)
    return len(own)


@case(configs=ONE_VCPU)
def filters_are_read_as_the_guest_does(t):
    """Valid and invalid filters of an event and of a system: errno, contents of the file, and error_log with the
    position of the error equal the guest's own tracefs."""
    with t.attach():
        nr = try_both(t, "events/sched/sched_switch/filter", EXPRESSIONS)
        nr += try_both(t, "events/sched/filter", "prev_pid == 1\nno_such == 1\nprev_pid == \n0\n(")
        if "cpumask" in t.guest.run(f"cat {OWN}/events/ipi/ipi_send_cpumask/format 2>/dev/null || true"):
            nr += try_both(t, "events/sched/sched_switch/filter", OF_CPUS)
            nr += try_both(t, "events/ipi/ipi_send_cpumask/filter", "cpumask & CPUS{0}\ncpumask == 1\ncpumask > CPUS{0}")
            nr += try_both(t, "events/timer/hrtimer_expire_entry/filter", OF_FUNCTIONS)
        t.note(f"{nr} filters")


# (file below events/, filter)
FILTERS = (
    ("sched/filter", 'COMM != "swapper/0" && common_pid > 1'),
    ("sched/sched_switch/filter", '(prev_comm ~ "*sh*" || next_comm == "sleep" || prev_pid == 0) && CPU == 0'),
    ("sched/sched_process_exec/filter", 'filename ~ "*/self*" && old_pid != 1'),
    ("irq/softirq_entry/filter", "vec == 1 || vec & 8"),
    ("irq/softirq_exit/filter", "!(vec != 1 && vec != 9)"),
    ("kmem/kmalloc/filter", "bytes_req >= 0x100 && bytes_req < 2048 && common_preempt_count != 99"),
    ("kmem/kfree/filter", 'COMM ~ "k*" || COMM == "swapper/0"'),
    ("signal/signal_generate/filter", 'sig == 9 && comm == "sh"'),
    ("timer/timer_start/filter", 'COMM ~ "swapper*" || expires & 1'),
)
WITHOUT = ("kmem/mm_page_alloc", "workqueue/workqueue_execute_start")


# getcwd or chdir. The guest evaluates filters that only compare numbers.
CALLS = "id == 79 && common_pid > 1 || !(id != 80)"
FEW_CALLS = "(for i in 1 2 3 4 5; do cd /; cd /tmp; done); dd if=/dev/zero of=/dev/null bs=1 count=2000 2>/dev/null"
NR_OTHERS = 4000


def filtered_in_the_guest(t, traced):
    """Checks a filter that the guest evaluates. Returns the number of records with the filter and without."""
    file = "events/raw_syscalls/sys_enter"
    written = []
    traced.echo("events/enable", "0")
    traced.echo("tracing_on", "1")
    traced.echo(f"{file}/filter", CALLS)
    traced.echo(f"{file}/enable", "1")
    for filter in (CALLS, "0"):
        if filter == "0":
            traced.echo(f"{file}/filter", "0")
        traced.echo("trace", "")
        before = t.hv.stat(t.name)["events"]
        own = t.guest.run(
            f"cd {OWN}; echo '{CALLS}' >{file}/filter; echo 1 >{file}/enable; echo >trace; {FEW_CALLS}; echo 0 >{file}/enable; "
            f"cat {OWN}/trace; echo 0 >{file}/filter",
            timeout=300,
        )
        written.append(t.hv.stat(t.name)["events"] - before)
        if filter != "0":
            ours = events_of(traced.text("trace", timeout=300))
            agree(*alike(events_of(own), ours))
            assert len(events_of(own)) >= 10 and all(text.startswith(("sys_enter: NR 79 ", "sys_enter: NR 80 ")) for _, (_, _, _, text) in ours), ours[:5]
    traced.echo(f"{file}/enable", "0")
    return written


@case(configs=(*ONE_VCPU[1:], OLDEST), further=ONE_VCPU[:1], sanitized=True)
def filtered_events_agree_with_the_guests_own(t):
    """The guest and hvtrace record events with equal filters together: the same events pass. An instance has separate
    filters, and set_event_notrace_pid excludes a task. record -f, which reads raw pages, passes them as well. Events
    that fail a filter of numbers are not in the guest's rings."""
    events = [file.removesuffix("/filter") for file, _ in FILTERS[1:]] + list(WITHOUT)
    with t.attach() as traced:
        traced.echo("tracing_on", "0")
        for file, text in FILTERS:
            traced.echo(f"events/{file}", text)
        t.hv("mkdir", t.name, "instances/a")
        traced.echo("instances/a/events/sched/sched_switch/filter", "next_pid == 0")
        traced.echo("instances/a/set_event", "sched:sched_switch")
        traced.echo("instances/a/set_event_notrace_pid", "1")
        for event in events:
            traced.echo(f"events/{event}/enable", "1")
        traced.echo("tracing_on", "1")
        own = t.guest.run(
            f"cd {OWN}; echo 0 >tracing_on; echo 20000 >buffer_size_kb; "
            + "".join(f"echo '{text}' >events/{file}; " for file, text in FILTERS)
            + "".join(f"echo 1 >events/{event}/enable; " for event in events)
            + f"echo >trace; echo 1 >tracing_on; {WORK}; echo 0 >tracing_on; echo 0 >events/enable; cat trace; "
            + "".join(f"echo 0 >events/{file}; " for file, _ in FILTERS[::-1]),
            timeout=300,
        )
        traced.echo("tracing_on", "0")
        ours = traced.text("trace", timeout=300)
        agree(*alike(events_of(own), events_of(ours)))
        counts = collections.Counter(event[1][3].split(":")[0] for event in events_of(own))
        missing = {event.split("/")[1] for event in events} - set(counts)
        assert missing <= {"kfree", "workqueue_execute_start"}, f"nothing was recorded of {missing}"
        its_own = events_of(traced.text("instances/a/trace"))
        assert its_own and all("next_pid=0 " in text and pid != "1" for _, (pid, _, _, text) in its_own), its_own[:5]
        t.hv("rmdir", t.name, "instances/a")
        words = ("-e", "sched:sched_switch", "-f", "next_pid == 0", t.name, "-o", "-", "--format=jsonl")
        recording = t.hv.start("record", *words)
        t.await_event(recording, "sched_switch")
        t.guest.run("sleep 0.1")  # makes the vCPU switch to the idle task
        data = t.end_recording(recording)[0].decode()
        assert '"next_pid":0' in data and '"prev_pid":0' not in data, data[:1000]
        t.hv.fails("record", "-e", "sched", "-f", "no_such == 1", t.name, "--for", "1s", says=("sched:", "Field not found"))
        t.guest.run(f"echo 1 >{OWN}/tracing_on; echo >{OWN}/trace")
        few, all_of_them = filtered_in_the_guest(t, traced)
        assert few < NR_OTHERS / 4 and all_of_them >= 4 * NR_OTHERS, (few, all_of_them)
        t.guest.run(f"echo >{OWN}/trace; echo 1 >{OWN}/buffer_size_kb")
        t.note(f"{sum(counts.values())} events: {dict(counts)}; {few} records of system calls, {all_of_them} without a filter")


TRIGGERS = """
traceon if prev_pid == 123456
traceoff
!traceoff
traceoff:3
!traceon:7 if x
snapshot:0x10 if prev_pid == 123456
enable_event:irq:irq_handler_entry:2 if next_comm ~ "no such*"
disable_event:irq:irq_handler_entry
disable_event:sched:sched_waking
enable_event:sched:sched_switch if prev_pid == 123456
!enable_event:sched:sched_waking
!disable_event:irq:irq_handler_entry:9
!enable_event:sched:sched_switch
!snapshot
  traceon:   if   prev_pid==123456
!traceon
traceoff:
!traceoff
traceoff 5
!traceoff
traceoff:-1
traceoff:x
traceoff:5x
traceoff:5:6
!traceoff
traceoff:99999999999999999999
traceoff if
traceoff if prev_pid
traceoff when prev_pid == 1
traceoff:5 when prev_pid == 1
traceoff if no_such == 1
traceoff if (prev_pid == 1
traceoff if prev_pid == 1 2
enable_event
enable_event:
enable_event:irq
enable_event:irq:
enable_event:irq:no_such
enable_event:no_such:x
enable_event:ftrace:print
enable_event:irq:irq_handler_entry:
enable_event:irq:irq_handler_entry:x
enable_event:irq:irq_handler_entry if
no_such
!no_such
!
: x
"""
TRY_TRIGGERS = """
cd {own}
echo 0 >tracing_on
while IFS= read -r trigger; do
	echo "== $trigger"
	echo "$trigger" 2>&1 >>{dir}/trigger || echo refused
	sed '/^#/d' {dir}/trigger
	sed '' {dir}/enable events/irq/irq_handler_entry/enable events/sched/sched_waking/enable
done <<'END'
{triggers}
END
echo 1 >tracing_on
"""
ON_EXIT = ('enable_event:kmem:mm_page_alloc:1 if comm == "sleep"', 'traceoff:1 if comm == "cat"')
WORK_OF_TRIGGERS = "ls /proc >/dev/null; sleep 0.1; ls /proc >/dev/null; cat /proc/uptime >/dev/null; ls /proc >/dev/null; sleep 0.1"


@case(configs=ONE_VCPU, sanitized=True)
def triggers_act_as_the_guests_own(t):
    """Valid and invalid triggers: errno and the files' text equal the guest's own tracefs. While both record, an event
    is enabled at the same point, and recording ends with the same event."""
    switch = "events/sched/sched_switch"
    with t.attach() as traced:
        command = TRY_TRIGGERS.format(own=OWN, dir=switch, triggers=TRIGGERS.strip("\n"))
        ours = t.hv("exec", t.name, "busybox", "sh", "-c", command, timeout=300)
        own = t.guest.run(command)
        parts = [text.split("\n== ") for text in (own, ours)]
        differences = [f"own:\n{a}\nhvtrace:\n{b}" for a, b in zip(*parts, strict=True) if a != b]
        assert not differences, f"{len(differences)} of {len(parts[0])} triggers differ:\n" + "\n".join(differences)
        traced.echo("events/enable", "0")
        traced.echo("tracing_on", "0")
        traced.echo("trace", "")
        events = ("sched/sched_switch", "sched/sched_process_exit")
        for event in events:
            traced.echo(f"events/{event}/enable", "1")
        for trigger in ON_EXIT:
            traced.echo("events/sched/sched_process_exit/trigger", trigger)
        traced.echo("tracing_on", "1")
        own = t.guest.run(
            f"cd {OWN}; echo 0 >tracing_on; echo 20000 >buffer_size_kb; "
            + "".join(f"echo 1 >events/{event}/enable; " for event in events)
            + "".join(f"echo '{trigger}' >events/sched/sched_process_exit/trigger; " for trigger in ON_EXIT)
            + f"echo >trace; echo 1 >tracing_on; {WORK_OF_TRIGGERS}; read on <tracing_on; echo on $on; head -n 100000 trace; "
            + "".join(f"echo '!{trigger}' >events/sched/sched_process_exit/trigger; " for trigger in ON_EXIT)
            + "echo 0 >events/enable; echo 1 >tracing_on; echo >trace; echo 1 >buffer_size_kb",
            timeout=300,
        )
        assert own.startswith("on 0\n") and traced.text("tracing_on") == "0\n"
        own, ours = events_of(own), events_of(traced.text("trace", timeout=300))
        agree(own, ours)
        assert own[-1][1] == ours[-1][1] and own[-1][1][3].startswith("sched_process_exit: comm=cat"), (own[-1], ours[-1])
        names = [event[1][3].split(":")[0] for event in ours]
        assert "sched_process_exit" in names[: names.index("mm_page_alloc")], names
        said = traced.text("events/sched/sched_process_exit/trigger")
        assert said.count(":count=0 if ") == 2, said
        t.note(f"{len(parts[0])} triggers; {len(own)} events of {len(ours)} in both")


FAMILY = (
    "read go </tmp/go; (cat /proc/version; sh -c 'cat /proc/uptime; exec cat /proc/loadavg'); (: >/tmp/last; read end </tmp/end; true); true"
)
OF_TASKS = ("sched/sched_process_exec", "sched/sched_process_exit", "sched/sched_wakeup_new", "raw_syscalls/sys_enter")


@case(configs=ONE_VCPU)
def lists_of_events_follow_forks(t):
    """With the option event-fork the guest and hvtrace record the same events of a task and its descendants together.
    The lists have the same pids while a child lives and after all have ended; then no task is recorded."""
    t.guest.run(f"rm -f /tmp/go /tmp/end /tmp/last; mkfifo /tmp/go /tmp/end; (exec sh -c \"{FAMILY}\") >/dev/null 2>&1 & echo $! >/tmp/parent")
    parent = t.guest.run("cat /tmp/parent").strip()
    with t.attach() as traced:
        settings = (("tracing_on", "0"), ("set_event_pid", parent), ("options/event-fork", "1"))
        settings += tuple((f"events/{event}/enable", "1") for event in OF_TASKS) + (("trace", ""), ("tracing_on", "1"))
        for file, value in settings:
            traced.echo(file, value)
        t.guest.run(f"cd {OWN}; " + "; ".join(f"echo {value} >{file}" for file, value in settings))

        def lists():
            return t.guest.run(f"cat {OWN}/set_event_pid").split(), traced.text("set_event_pid").split()

        # The children before the last one have ended when it exists. Before that, the lists change all the time.
        t.guest.run("echo >/tmp/go; until [ -e /tmp/last ]; do sleep 0.1; done")
        found = until(lambda: (both := lists())[0] == both[1] and len(both[0]) == 2 and both[0])
        assert found and parent in found, f"the child of {parent}: {lists()}"
        t.guest.run(f"echo >/tmp/end; while [ -d /proc/{parent} ]; do sleep 0.1; done; rm /tmp/go /tmp/end /tmp/last")
        assert until(lambda: lists() == ([], [])), f"all have ended: {lists()}"
        t.guest.run("cat /proc/version")
        traced.echo("tracing_on", "0")
        own = events_of(t.guest.run(f"cd {OWN}; echo 0 >tracing_on; cat trace"))
        ours = events_of(traced.text("trace"))
        agree(own, ours)
        pids = {pid for _, (pid, *_) in ours}
        assert len(pids) >= 5 and parent in pids, f"children of {parent}: {pids}"
        traced.echo("options/event-fork", "0")
        t.guest.run(f"cd {OWN}; echo 0 >options/event-fork; echo 0 >events/enable; echo >set_event_pid; echo >trace; echo 1 >tracing_on")
        t.note(f"{len(ours)} events of {len(pids)} tasks")
