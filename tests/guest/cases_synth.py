# SPDX-License-Identifier: GPL-2.0-or-later
"""Variables and actions of hist triggers, and synthetic events, compared with the guest's own tracefs."""

import contextlib
import difflib
import re

from lib.suite import ONE_VCPU, STANDARD, case

OWN = "/sys/kernel/tracing"
WAKING = "events/sched/sched_waking"
SWITCH = "events/sched/sched_switch"
# Writes that all kernels from 6.1 on parse alike, valid and invalid: a file, and the text to append (>>).
WRITES = r"""
synthetic_events wakeup u64 lat; pid_t pid
synthetic_events wakeup u64 lat
synthetic_events named  u64 lat pid_t pid char comm[16]
synthetic_events text u64 lat; char name[]; unsigned int n
synthetic_events all s64 a; s32 b; u16 c; s8 d; u8 e; bool f; long g; unsigned long h; gfp_t i; char j; unsigned char k
synthetic_events my-event u64 lat
synthetic_events myevent chr arg
synthetic_events myevent unsigned arg
synthetic_events myevent char str]; int v
synthetic_events myevent char st-r[]
synthetic_events myevent char str;[]
synthetic_events myevent char str; int
synthetic_events myevent char str[; int v
synthetic_events myevent char str[kdjdk]
synthetic_events myevent char str[257]
synthetic_events mye;vent char str[]
synthetic_events myevent ; char str[]
synthetic_events ; char str[]
synthetic_events myevent
synthetic_events !no_such
dynamic_events s:junk/myevent char str[8]
dynamic_events s:synthetic/other u32 a; char b[8]
dynamic_events s:third u32 a
dynamic_events -:third
dynamic_events -:synthetic/other
events/sched/sched_waking/trigger hist:keys=pid:ts0=common_timestamp.usecs if comm=="workload"
events/sched/sched_waking/trigger hist:keys=pid:ts0=common_timestamp.usecs if comm=="workload"
events/sched/sched_waking/trigger hist:keys=pid,prio:ts0=prio
events/sched/sched_waking/trigger hist:keys=pid:a=prio,b=5,c=common_pid.execname,d=$a:e=$a+$b-1
events/sched/sched_waking/trigger hist:keys=pid:bad
events/sched/sched_waking/trigger hist:keys=pid:bad=1,worse
events/sched/sched_waking/trigger hist:keys=pid:v1=1:v2=1:v3=1:v4=1:v5=1:v6=1:v7=1:v8=1:v9=1:v10=1:v11=1:v12=1:v13=1:v14=1:v15=1:v16=1:v17=1
events/sched/sched_waking/trigger hist:keys=pid:bad=prio.log2
events/sched/sched_waking/trigger hist:keys=pid:bad=no_such
events/sched/sched_waking/trigger hist:keys=pid:bad=$no_such
events/sched/sched_waking/trigger hist:keys=$ts0
events/sched/sched_switch/trigger hist:keys=next_pid:vals=$ts0
events/sched/sched_switch/trigger hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup($lat,next_pid) if next_comm=="workload"
events/sched/sched_switch/trigger hist:keys=next_pid:lat2=common_timestamp-$ts0
events/sched/sched_switch/trigger hist:keys=next_pid:lat2=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).trace(wakeup,$lat2,next_pid):onmax($lat2).save(next_comm,prev_pid,prev_comm)
events/sched/sched_switch/trigger hist:keys=next_pid:lat3=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).named($lat3,sched.sched_switch.next_pid,next_comm)
events/sched/sched_switch/trigger hist:keys=next_pid:p=prev_prio:onchange($p).save(next_comm)
events/sched/sched_switch/trigger hist:keys=next_pid:q=prev_prio:onmax($q).save(next_comm):onchange($q).save(prev_comm)
events/sched/sched_switch/trigger hist:keys=next_pid:q=prev_prio:onmax(q).save(next_comm)
events/sched/sched_switch/trigger hist:keys=next_pid:q=prev_prio:onmax($r).save(next_comm)
events/sched/sched_switch/trigger hist:keys=next_pid:q=prev_prio:onmax($q).save(no_such)
events/sched/sched_switch/trigger hist:keys=next_pid:q=prev_prio:onmax($q).save()
events/sched/sched_switch/trigger hist:keys=next_pid:q=prev_prio:onmax($q)
events/sched/sched_switch/trigger hist:keys=next_pid:q=prev_prio:onmax($q).save
events/sched/sched_switch/trigger hist:keys=next_pid:q=prev_prio:onmax($q
events/sched/sched_switch/trigger hist:keys=next_pid:q=prev_prio:onmax($q).snapshot(
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.sched_waking).no_such(next_pid)
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.sched_waking).wakeup(next_pid)
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.sched_waking).wakeup(next_pid,next_pid)
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.sched_waking).wakeup($no_such,next_pid)
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.sched_waking).wakeup(sched.next_pid,next_pid)
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.sched_waking).save(next_pid)
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.sched_waking).snapshot()
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.no_such).wakeup(next_pid)
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched_waking).wakeup(next_pid)
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.sched_waking
events/sched/sched_switch/trigger hist:keys=next_pid:onmatch(sched.sched_waking).wakeup
events/synthetic/wakeup/trigger hist:keys=pid:vals=lat:sort=lat
events/synthetic/wakeup/filter lat > 100
synthetic_events !wakeup
events/sched/sched_waking/trigger !hist:keys=pid:ts0=common_timestamp.usecs if comm=="workload"
events/synthetic/wakeup/trigger !hist:keys=pid:vals=lat:sort=lat
events/sched/sched_switch/trigger !hist:keys=next_pid:p=prev_prio:onchange($p).save(next_comm)
events/sched/sched_switch/trigger !hist:keys=next_pid:lat3=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).named($lat3,sched.sched_switch.next_pid,next_comm)
events/sched/sched_switch/trigger !hist:keys=next_pid:lat2=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).trace(wakeup,$lat2,next_pid):onmax($lat2).save(next_comm,prev_pid,prev_comm)
events/sched/sched_switch/trigger hist:keys=next_pid:m=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup($m,prio)
events/sched/sched_switch/trigger hist:keys=next_pid:m=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).text($m,comm,prio)
events/sched/sched_switch/trigger !hist:keys=next_pid:m=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).text($m,comm,prio)
events/sched/sched_switch/trigger !hist:keys=next_pid:lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking).wakeup($lat,next_pid) if next_comm=="workload"
events/sched/sched_waking/trigger !hist:keys=pid:ts0=common_timestamp.usecs if comm=="workload"
synthetic_events !wakeup u64 lat; pid_t pid
"""
TRY = """
cd {own}
echo 0 >tracing_on
clock=$(sed 's/.*\\[\\(.*\\)\\].*/\\1/' trace_clock)
while read -r file text; do
	echo "== $file $text"
	echo >error_log
	echo "$text" 2>&1 >>$file || echo refused
	sed '' synthetic_events
	sed '' dynamic_events
	for event in sched/sched_waking sched/sched_switch synthetic/wakeup; do
		[ ! -e events/$event ] || grep -v '^#' events/$event/trigger
		[ ! -e events/$event ] || sed '' events/$event/enable
		[ ! -e events/$event ] || sed '' events/$event/filter
	done
	grep -A 2 -e '] hist:' -e '] synthetic' error_log | sed 's/^[^]]*]//'
done <<'END'
{writes}
END
for name in all named text wakeup; do grep -v ^ID: events/synthetic/$name/format; done
for i in 1 2 3; do
	for file in events/sched/sched_switch/trigger events/sched/sched_waking/trigger events/synthetic/*/trigger; do
		echo "$(grep ^hist: $file)" | while read -r line; do echo "!${{line%% [[]*}}" 2>/dev/null >>$file; done
	done
done
grep ^hist: events/sched/*/trigger
echo >synthetic_events && sed '' synthetic_events
echo $clock >trace_clock
echo 1 >tracing_on
echo >error_log
"""


# Messages that only hvtrace has: the kernel logs nothing about events that are in use, or do not exist.
OUR_WORDS = re.compile(r" synthetic_events: error: (?:the |there is no )synthetic event.*\n.*\n.*\n")


def difference(own, ours):
    """Returns the written text and the lines that only one side has."""
    lines = difflib.unified_diff(own.splitlines(), ours.splitlines(), n=0, lineterm="")
    return "\n".join([own.split("\n")[0], *list(lines)[2:]])


@case(configs=ONE_VCPU[1:])
def synthetic_events_are_read_as_the_guests_own(t):
    """Valid and invalid definitions of synthetic events, variables and actions: errno, the texts of all files, and the
    lines in error_log with the position of the error equal the guest's own tracefs."""
    with t.attach():
        command = TRY.format(own=OWN, writes=WRITES.strip("\n"))
        ours = t.hv("exec", t.name, "busybox", "sh", "-c", command, timeout=600)
        ours = OUR_WORDS.sub("", ours)
        own = t.guest.run(command, timeout=300)
        parts = [text.split("\n== ") for text in (own, ours)]
        differences = [difference(a, b) for a, b in zip(*parts, strict=False) if a != b]
        assert not differences, f"{len(differences)} of {len(parts[0])} writes differ:\n" + "\n".join(differences)
        t.note(f"{len(parts[0])} writes")


RECIPE = (
    ("synthetic_events", "wakeup_latency u64 lat; pid_t pid; int prio; char comm[16]"),
    (f"{WAKING}/trigger", 'hist:keys=pid:ts0=common_timestamp.usecs if comm=="workload"'),
    (
        f"{SWITCH}/trigger",
        "hist:keys=next_pid:wakeup_lat=common_timestamp.usecs-$ts0:onmatch(sched.sched_waking)"
        ".wakeup_latency($wakeup_lat,next_pid,next_prio,next_comm):onmax($wakeup_lat).save(next_prio,prev_comm)"
        ' if next_comm=="workload"',
    ),
    ("events/synthetic/wakeup_latency/trigger", "hist:keys=pid,prio,comm:vals=lat:sort=pid"),
    ("events/synthetic/wakeup_latency/enable", "1"),
)
MADE = re.compile(r"^ *(\S+)-(\d+) +\[(\d+)\] (\S+) +([\d.]+): (wakeup_latency: lat=(\d+) .*)$", re.MULTILINE)
# Histograms pad numbers with blanks, so the pattern includes these.
BLANKED = re.compile(r"(lat=|vals?=lat|lat:|max:) *\d+|prev_comm: \S+ *")
# A line of raw events that the recipe uses: the task that is woken or switched to.
RAW = re.compile(r"([\d.]+): (sched_waking: comm=workload pid=(\d+)|sched_switch: .*next_comm=workload next_pid=(\d+))")


def blanked(text):
    return BLANKED.sub(r"\1?", text)


def latencies(trace):
    """Computes from the raw events the latencies that the histogram must contain, in microseconds."""
    woken, found = {}, []
    for time, _, waked, switched in RAW.findall(trace):
        us = round(float(time) * 1e6)
        if waked:
            woken[waked] = us
        elif switched in woken:
            found.append((int(switched), us - woken.pop(switched)))
    return found


CLEAN = f"cd {OWN}; echo 0 >events/synthetic/wakeup_latency/enable; " + "".join(
    f"echo '!{text}' >>{file}; " for file, text in reversed(RECIPE[:4])
)


@contextlib.contextmanager
def recipe_of_the_guest(t):
    """Applies RECIPE in the guest's own tracefs until the block ends. Other cases leave a small buffer."""
    t.guest.run(f"cd {OWN}; echo 2000 >buffer_size_kb; echo >trace; " + "".join(f"echo '{text}' >>{file}; " for file, text in RECIPE))
    try:
        yield
    finally:
        t.guest.run(CLEAN + "echo 1 >tracing_on; echo >trace; echo 1 >buffer_size_kb")


@case(configs=STANDARD[1:3], further=STANDARD[:1], sanitized=True)
def wakeup_latency_agrees_with_the_guests_own(t):
    """The recipe of the kernel's documentation: sched_waking, sched_switch, a synthetic event, and a histogram of it.
    The guest and hvtrace execute it together, with equal events and entries. hvtrace's latencies equal those
    computed from the raw events."""
    with t.attach() as traced:
        for file, text in RECIPE:
            t.hv("echo", "-a", t.name, file, text)
        for event in (WAKING, SWITCH):
            traced.echo(f"{event}/enable", "1")
        with recipe_of_the_guest(t):
            # Another case may have left /tmp/pid.
            t.guest.run("rm -f /tmp/pid; workload threads 200 >/tmp/pid 2>&1 & until grep -q ^pid /tmp/pid; do sleep 0.1; done 2>/dev/null")
            t.guest.run("pid=$(grep -o '[0-9]*' /tmp/pid); kill -USR1 $pid; while kill -0 $pid 2>/dev/null; do sleep 0.2; done")
            t.guest.run(f"echo 0 >{OWN}/tracing_on")
            traced.echo("tracing_on", "0")
            trace = traced.text("trace")
            own, ours = MADE.findall(t.guest.run(f"cat {OWN}/trace")), MADE.findall(trace)
            assert len(ours) > 100, f"{len(ours)} events"
            # The guest shows the last known name of a task, not its name at the event. The two probes run one after the
            # other, so events of different CPUs may be in the other order.
            parts = [sorted(((pid, cpu, flags, blanked(text)) for _, pid, cpu, flags, _, text, _ in made), key=lambda event: event[1]) for made in (own, ours)]
            different = [(a, b) for a, b in zip(*parts, strict=False) if a != b]
            assert not different and len(own) == len(ours), f"{len(own)} events of the guest's own, {len(ours)} of hvtrace, first difference {different[:1]}"
            made = [(int(re.search(r" pid=(\d+)", text).group(1)), int(lat)) for *_, text, lat in ours]
            raw = [found for found in latencies(trace) if found[0] in {pid for pid, _ in made}]
            assert len(raw) == len(made) and all(a[0] == b[0] and abs(a[1] - b[1]) <= 1 for a, b in zip(raw, made, strict=True)), f"{raw[:20]}\n{made[:20]}"
            for event in ("events/synthetic/wakeup_latency", SWITCH, WAKING):
                hists = [blanked(text) for text in (t.guest.run(f"cat {OWN}/{event}/hist"), traced.text(f"{event}/hist"))]
                assert hists[0] == hists[1], f"{event}:\n{difference(*hists)}"
            assert "max: " in traced.text(f"{SWITCH}/hist")
            t.note(f"{len(ours)} events, the largest latency {max(lat for _, lat in made)} us")
        t.hv("exec", t.name, "sh", "-c", CLEAN)
        assert traced.text("synthetic_events") == "" and traced.text(f"{SWITCH}/hist") == ""
