# SPDX-License-Identifier: GPL-2.0-or-later
"""Histograms of the guest's own events, compared with the guest's own tracefs."""

import difflib
import re

from lib.suite import ONE_VCPU, case

OWN = "/sys/kernel/tracing"
# Valid and invalid triggers that all kernels from 6.1 on parse alike, written to kmem:kmalloc in this order.
TRIGGERS = r"""
hist:keys=common_pid
hist:keys=common_pid
hist:keys=common_pid:pause
hist:keys=common_pid:cont
hist:keys=common_pid:clear
hist:keys=common_pid:pause if bytes_req > 5
!hist:keys=common_pid
!hist:keys=common_pid if bytes_req > 5
!hist:keys=common_pid
hist:key=common_pid.execname:val=bytes_req
hist:keys=common_pid.execname:vals=bytes_req,hitcount:sort=hitcount
hist:keys=call_site.sym,bytes_req.log2,ptr.hex:values=hitcount,bytes_alloc,bytes_req:sort=bytes_req.descending,call_site:size=100
hist:keys=call_site.sym-offset:vals=bytes_alloc.hex:size=131072
 hist:keys=bytes_req.buckets=0x10 if common_pid!=1
!hist:keys=bytes_req.bucket=4 if common_pid!=1
hist  keys=common_timestamp.usecs
hist:keys=common_timestamp,common_cpu:clock=local
hist:keys=cpu,CPU.hex:sort=cpu
hist:keys=common_pid.syscall,common_type.usecs
hist:keys=bytes_alloc-bytes_req:vals=bytes_alloc-bytes_req
hist:keys=-(bytes_req):sort=common_pid
hist:keys=bytes_alloc/2*3+bytes_req
hist:keys=12/3-2
hist:name=mine:keys=common_pid
hist:name=mine:keys=common_pid if bytes_req == 8
hist:keys=common_pid:name=mine
hist:keys=common_pid,bytes_req:name=mine
hist:keys=common_pid:name=mine:pause
hist:keys=common_pid:name=other:pause
!hist:keys=common_pid:name=mine
hist:keys=common_pid:vals=bytes_req.percent,bytes_alloc.graph
hist:keys=a.b.common_pid
hist:keys=common_pid:vals=bytes_req:sort=common_pid,junk
hist:keys=common_pid:vals=bytes_req:sort=
hist:keys=common_pid:vals=bytes_req:sort=common_pid,
hist:keys=common_pid:vals=bytes_req:sort=,common_pid
hist:keys=common_pid:vals=bytes_req:sort=.descending
hist:keys=common_pid:vals=bytes_req:sort=common_pid.junk
hist:keys=common_pid:vals=bytes_req,bytes_alloc:sort=common_pid,bytes_req,bytes_alloc
hist
hist:
hist:vals=bytes_req
hist:keys=
hist:keys=no_such
hist:keys=common_pid:vals=no_such
hist:keys=common_pid,
hist:keys=common_pid,common_pid,common_pid,common_pid
hist:keys=common_pid:vals=bytes_req,bytes_alloc,ptr
hist:keys=common_pid:vals=bytes_req,bytes_alloc,hitcount
hist:keys=common_pid:size=1
hist:keys=common_pid:size=131073
hist:keys=common_pid:size=x
hist:keys=common_pid:size=
hist:keys=common_pid.junk
hist:keys=bytes_req.execname
hist:keys=common_pid.buckets
hist:keys=common_pid.buckets=
hist:keys=common_pid.buckets=0
hist:keys=common_pid.buckets=x
hist:keys=common_pid.percent
hist:keys=common_pid:vals=bytes_req.log2
hist:keys=common_pid:vals=bytes_req.sym
hist:keys=common_pid:junk
hist:keys=common_pid::pause
hist:keys=common_pid:cont
hist:keys=common_pid,bytes_req:cont
hist:keys=common_pid,bytes_req:clear
hist:keys=common_pid,bytes_req:pause:clear
hist:keys=common_timestamp:clock=no_such
hist:keys=bytes_req+
hist:keys=+bytes_req
hist:keys=-bytes_req
hist:keys=-(bytes_req
hist:keys=-(bytes_req)+1
hist:keys=bytes_req/0
hist:keys=bytes_req+12x
hist:keys=1+2+3+bytes_req+bytes_alloc
hist:keys=common_timestamp.usecs-bytes_req
hist:keys=common_pid if
hist:keys=common_pid if x
hist:keys=common_pid if no_such == 1
hist:keys=common_pid if bytes_req == 1 2
hist:if x
hist:keys=if
hist:keys=common_pid bytes_req
enable_hist:kmem:kfree
disable_hist:kmem:kfree:3 if bytes_req == 7
!enable_hist:kmem:kfree
disable_hist:kmem:kfree:3 if bytes_req == 7
enable_hist:kmem:no_such
"""
TRY = """
cd {own}
echo 0 >tracing_on
clock=$(sed 's/.*\\[\\(.*\\)\\].*/\\1/' trace_clock)
while IFS= read -r trigger; do
	echo "== $trigger"
	echo >error_log
	echo "$trigger" 2>&1 >>{dir}/trigger || echo refused
	grep -v '^#' {dir}/trigger
	grep -A 2 '] hist:' error_log | sed 's/^[^]]*]//'
	sed '' {dir}/enable events/kmem/kfree/enable
done <<'END'
{triggers}
END
: >{dir}/trigger
grep -v '^#' {dir}/trigger
sed '' {dir}/enable
echo $clock >trace_clock
echo 1 >tracing_on
echo >error_log
"""


def difference(own, ours):
    """Returns the trigger and the lines that only one side has."""
    lines = difflib.unified_diff(own.splitlines(), ours.splitlines(), n=0, lineterm="")
    return "\n".join([own.split("\n")[0], *list(lines)[2:]])


# Linux 7.3 shows the name of the CPU field twice, the second time as it was written, and cannot parse that itself.
TWICE = re.compile(r"\bcommon_cpu(?:common_cpu|cpu|CPU)\b")


@case(configs=ONE_VCPU[:1])
def hist_triggers_are_read_as_the_guests_own(t):
    """Valid and invalid hist triggers: errno, the file's text, and the line in error_log with the position of the error
    equal the guest's own tracefs. Truncating the file removes them."""
    with t.attach():
        command = TRY.format(own=OWN, dir="events/kmem/kmalloc", triggers=TRIGGERS.strip("\n"))
        ours = t.hv("exec", t.name, "busybox", "sh", "-c", command, timeout=600)
        own = t.guest.run(command, timeout=300)
        parts = [text.split("\n== ") for text in (TWICE.sub("common_cpu", own), ours)]
        differences = [difference(a, b) for a, b in zip(*parts, strict=True) if a != b]
        assert not differences, f"{len(differences)} of {len(parts[0])} triggers differ:\n" + "\n".join(differences)
        t.note(f"{len(parts[0])} triggers")


# (event, trigger, the field that contains the task)
HISTS = (
    ("raw_syscalls/sys_enter", "keys=id.syscall", "common_pid"),
    ("raw_syscalls/sys_enter", "keys=id.hex,common_cpu:sort=id.descending", "common_pid"),
    ("raw_syscalls/sys_enter", "keys=id.log2", "common_pid"),
    ("raw_syscalls/sys_enter", "keys=id.buckets=32:sort=hitcount.descending,id", "common_pid"),
    ("raw_syscalls/sys_enter", "keys=common_pid.execname:vals=id", "common_pid"),
    ("raw_syscalls/sys_exit", "keys=id,ret:vals=ret,ret.hex:sort=ret", "common_pid"),
    ("raw_syscalls/sys_exit", "keys=id.syscall:sort=id:pause", "common_pid"),
    ("raw_syscalls/sys_exit", "keys=ret.log2", "common_pid"),
    ("syscalls/sys_enter_lseek", "keys=fd,offset", "common_pid"),
    ("kmem/kmalloc", "keys=call_site.sym:vals=bytes_req,bytes_alloc:sort=bytes_req.descending", "common_pid"),
    ("kmem/kmalloc", "keys=call_site.sym-offset,bytes_req", "common_pid"),
    ("kmem/kmalloc", "keys=bytes_alloc-bytes_req,bytes_req/3:vals=bytes_req.hex", "common_pid"),
    ("kmem/kfree", "keys=ptr.hex:size=128", "common_pid"),
    ("sched/sched_switch", "keys=prev_comm,prev_prio:vals=prev_state:sort=prev_comm", "prev_pid"),
    ("sched/sched_process_exit", "keys=comm,pid", "pid"),
)


def same_order(t):
    """Returns whether the guest's kernel keeps equal entries in hvtrace's order: until 6.9."""
    major, minor = t.guest.run("uname -r").split(".")[:2]
    return (int(major), int(minor)) < (6, 10)


def events_of(hists):
    return sorted({event for event, *_ in hists})


def start_asleep(t):
    """Starts a workload that waits for a signal. Returns its pid."""
    said = t.guest.run(
        "rm -f /tmp/pid; workload syscalls 60 >/tmp/pid 2>&1 & until grep -q ^pid /tmp/pid && grep -q '^State:.S' /proc/$!/status;"
        " do sleep 0.1; done 2>/dev/null; cat /tmp/pid"
    )
    return re.search(r"\d+", said).group(0)


@case(configs=ONE_VCPU, sanitized=True)
def histograms_agree_with_the_guests_own(t):
    """The guest and hvtrace count the same events of one task together: the texts of all hist files are equal to the
    byte. tracing_on is off for both."""
    with t.attach() as traced:
        pid = start_asleep(t)
        written = [(event, f"hist:{text} if {field} == {pid}") for event, text, field in HISTS]
        traced.echo("tracing_on", "0")
        for event, text in written:
            t.hv("echo", "-a", t.name, f"events/{event}/trigger", text)
        t.guest.run(f"cd {OWN}; echo 0 >tracing_on; " + "".join(f"echo '{text}' >>events/{event}/trigger; " for event, text in written))
        t.guest.run(f"kill -USR1 {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.2; done")
        lines = 0
        for event in events_of(HISTS):
            own, ours = t.guest.run(f"cat {OWN}/events/{event}/hist"), traced.text(f"events/{event}/hist")
            own = TWICE.sub("common_cpu", own)
            assert own == ours or (sorted(own.split("\n")) == sorted(ours.split("\n")) and not same_order(t)), f"{event}: own:\n{own}\nhvtrace:\n{ours}"
            lines += own.count("\n{") + own.count("hitcount:")
        assert "sys_lseek" in traced.text("events/raw_syscalls/sys_enter/hist")
        for event in events_of(HISTS):
            t.guest.run(f": >{OWN}/events/{event}/trigger")
            t.hv("exec", t.name, "sh", "-c", f": >{OWN}/events/{event}/trigger")
            assert traced.text(f"events/{event}/hist") == ""
        t.guest.run(f"echo 1 >{OWN}/tracing_on")
        t.note(f"{len(HISTS)} histograms, {lines} entries")


PROBED = "p:mine vfs_read{} count=%dx:u64 who=$comm"
PROBED_HIST = "hist:keys=count,who:vals=count:sort=count,hitcount"


def total(text):
    return int(re.search(r"Hits: (\d+)", text).group(1))


@case(configs=ONE_VCPU)
def probes_have_triggers(t):
    """Triggers of a probe count the same calls as the guest's own probe a few bytes after the entry, whether the probe
    is on or off. A probe with triggers cannot be removed; triggers of a return probe behave the same way. They also act
    while the guest itself probes the function."""
    with t.attach() as traced:
        pid = start_asleep(t)
        mine, hist = "events/kprobes/mine", f"{PROBED_HIST} if common_pid == {pid}"
        traced.echo("kprobe_events", PROBED.format(""))
        t.hv("echo", "-a", t.name, "kprobe_events", "r:back vfs_read ret=$retval:s64")
        traced.echo("tracing_on", "0")
        traced.echo(f"{mine}/trigger", hist)
        traced.echo("events/kprobes/back/trigger", f"hist:keys=ret if common_pid == {pid}")
        own = "".join(f"echo '{PROBED.format('+' + off)}' >kprobe_events || " for off in ("9", "5"))
        t.guest.run(f"cd {OWN}; {own} exit 1; echo 0 >tracing_on; echo '{hist}' >{mine}/trigger")
        t.guest.run(f"kill -USR1 {pid}; while kill -0 {pid} 2>/dev/null; do sleep 0.2; done")
        for file in (f"{mine}/hist", f"{mine}/trigger", f"{mine}/enable"):
            theirs, ours = t.guest.run(f"cat {OWN}/{file}"), traced.text(file)
            assert theirs == ours, f"{file}: own:\n{theirs}\nhvtrace:\n{ours}"
        hits = total(traced.text(f"{mine}/hist"))
        assert hits > 50 and total(traced.text("events/kprobes/back/hist")) == hits, traced.text("events/kprobes/back/hist")
        t.hv.fails("echo", t.name, "kprobe_events", "-:mine", says=("busy",))
        traced.echo("events/kprobes/back/trigger", f"!hist:keys=ret if common_pid == {pid}")
        traced.echo(f"{mine}/trigger", "!" + hist)
        t.guest.run(f"cd {OWN}; echo '!{hist}' >{mine}/trigger; echo >kprobe_events")
        profile = {line.split()[0]: int(line.split()[1]) for line in traced.text("kprobe_profile").splitlines()}
        assert min(profile.values()) >= hits, profile
        # Other actions: the probe starts recording, and enables another event once.
        t.hv("echo", "-a", t.name, f"{mine}/trigger", 'traceon if count > 0')
        t.hv("echo", "-a", t.name, f"{mine}/trigger", 'enable_event:kprobes:back:1 if count > 0')
        t.guest.run("cat /proc/uptime")
        assert traced.text("tracing_on") == "1\n", traced.text("trace")[-1000:]
        assert "back: (" in traced.text("trace"), traced.text("trace")[-1000:]
        for trigger in ("!traceon", "!enable_event:kprobes:back"):
            t.hv("echo", "-a", t.name, f"{mine}/trigger", trigger)
        traced.echo("events/kprobes/back/enable", "0")
        t.guest.run(f"cd {OWN}; echo 'p:own vfs_read' >kprobe_events; echo 1 >events/kprobes/own/enable")
        traced.echo(f"{mine}/trigger", "traceoff")
        t.guest.run("cat /proc/uptime")
        assert traced.text("tracing_on") == "0\n", traced.text("trace")[-1000:]
        traced.echo(f"{mine}/trigger", "!traceoff")
        left = traced.text(f"{mine}/trigger")
        assert left.startswith("# Available triggers:"), left
        t.guest.run(f"cd {OWN}; echo 0 >events/kprobes/own/enable; echo >kprobe_events; echo 1 >tracing_on")
        traced.echo("kprobe_events", "")
        t.note(f"{hits} calls")
