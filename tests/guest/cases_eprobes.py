# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes of events, compared with those in the guest's own dynamic_events."""

import collections
import re

from lib.suite import ONE_VCPU, case

from cases_named import has_casts, try_both

OWN = "/sys/kernel/tracing"

# Valid and invalid definitions with equal results for both. For a register, and for an invalid name, the kernel logs
# two errors in error_log.
DEFINITIONS = r"""
e:x sched.sched_switch prev=$prev_pid next=$next_pid:s32 name=$next_comm:string state=$prev_state:x16
e:x sched/sched_switch $prev_pid $next_pid:u8 prio=$prev_prio:b4@4/32 who=$comm:string WHO=$COMM:string
e:x sched/sched_process_exec name=$filename:string again=+0($filename):string $pid if filename ~ "*cat*" && pid > 1
e:x sched.sched_wakeup \42 what=\-7:s8 say=\"yes":string fun=$pid:symbol
e:x syscalls/sys_enter_openat dfd=$dfd:s32 at=$filename $flags nr=$__syscall_nr:u16
e:x syscalls/sys_exit_openat ret=$ret:s64
e:x raw_syscalls.sys_enter id=$id first=$args
e:x timer.hrtimer_start function=$function:symbol mode=$mode
e:x kmem.kmalloc site=$call_site:symbol size=$bytes_req
e:x sched.sched_switch name=$next_pid:string at=+0($next_pid):string bytes=+0($next_pid):u8[4] x=+8($next_pid)
e:x sched.sched_switch at=@jiffies low=@jiffies+4:u32 deep=+8(+4(@jiffies)):s16
e:x sched.sched_switch a=+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0(+0($prev_pid)))))))))))))
e:x syscalls/sys_enter_execve first=+0(+0($argv)):ustring all=+0($argv):ustring[2] env=+u0($envp):x64 path=$argv:ustring
e:x syscalls/sys_enter_openat name=+0($filename):ustring
e:x timer.hrtimer_start fun=+40($hrtimer):symbol soft=+u8($hrtimer):x8 bits=+0($hrtimer):b4@4/32
e:x sched.sched_switch
e:x/ sched.sched_switch
e:xprobes/ sched.sched_switch next=$next_pid
e:xprobes/x sched.sched_switch next=$next_pid
e:sched/sched_switch sched.sched_switch
e:x sched.no_such
e:x sched.
e:x ftrace.function
e:/x sched.sched_switch
e: sched.sched_switch
e:x.y.z sched.sched_switch
e:1x sched.sched_switch
e:x-y sched.sched_switch
e:x12345678901234567890123456789012345678901234567890123456789012345/x sched.sched_switch
e:x sched.sched_switch none
e:x sched.sched_switch a=none
e:x sched.sched_switch a=
e:x sched.sched_switch =$prev_pid
e:x sched.sched_switch a-b=$prev_pid
e:x sched.sched_switch a=$prev_pid a=$next_pid
e:x sched.sched_switch a=$no_such
e:x sched.sched_switch a=$no_such:u7
e:x sched.sched_switch a=+0($no_such)
e:x sched.sched_switch a=$common_pid
e:x sched.sched_switch a=$prev_pid:u7
e:x sched.sched_switch a=$prev_pid:u8[3]
e:x sched.sched_switch a=$prev_pid:u8[3
e:x sched.sched_switch a=$prev_pid:b0@1/32
e:x sched.sched_switch a=+0$prev_pid
e:x sched.sched_switch a=+x($prev_pid)
e:x sched.sched_switch a=%ax
e:x sched.sched_switch a=+8(%ax)
e:x sched.sched_switch a=\x
e:x sched.sched_switch a=\"x
e:x sched.sched_switch if
e:x sched.sched_switch a=$prev_pid if
e:x sched.sched_switch if no_such == 1
e:x sched.sched_switch a=$prev_pid if prev_pid
e:x sched.sched_switch a=$no_such if prev_pid == 1
"""
# For kernels whose own probes support typecasts.
CASTS = r"""
e:x sched.sched_switch a=prev_pid b=next_pid:s32 name=next_comm:string
e:x sched.sched_switch prev_pid
e:x sched.sched_switch a=prev_pid->x
e:x sched.sched_switch a=$prev_pid->x
e:x sched.sched_switch a=none.x
e:x sched.sched_switch a=comm
e:x sched.sched_switch a=_x
e:x sched.sched_switch a=common_pid
e:x sched.sched_switch a=none:u7
e:x sched.sched_switch a=+0(none)
e:x sched.sched_switch a=+0(prev_pid)
e:x sched.sched_switch a=+0(+0(+0(+0(+0(+0(+0(+0($prev_pid))))))))
e:x sched.sched_switch a=+0(+0(+0(+0(+0(+0(+0(+0(+z($prev_pid)))))))))
e:x sched.sched_switch a=+0(+0(+0(+0(+0(+0(+0(+0($none))))))))
e:x timer.hrtimer_start a=(hrtimer)hrtimer->_softexpires b=(hrtimer)$hrtimer->base->index c=(tick_sched,sched_timer)hrtimer->next_tick
e:x timer.hrtimer_start name=(file)hrtimer->f_path.dentry->d_name.name:string
e:x timer.hrtimer_start a=(none)hrtimer->x
e:x timer.hrtimer_start a=(hrtimer)hrtimer->none
e:x timer.hrtimer_start a=(hrtimer)hrtimer
e:x timer.hrtimer_start a=(hrtimer)none->base
"""
REFUSED = r"""
e:x sched.sched_switch name=$next_comm
e:x sched.sched_switch me=$comm
e:x sched.sched_switch say=\"yes"
e:x sched.sched_switch name=$next_comm:ustring
e:x sched.sched_switch at=+8($next_comm):string
e:x sched.sched_switch at=+0($next_comm):u8[4]
e:x sched.sched_switch at=$next_pid:string[2]
"""

EVENTS = r"""
e:execs sched.sched_process_exec name=$filename:string again=+0($filename):string $pid:s32 old=$old_pid if filename ~ "*exe"
e:born sched.sched_process_fork child=$child_pid:u16 low=$child_pid:b4@0/32 name=$child_comm:string five=\5
e:ended sched/sched_process_exit name=$comm:string $prio:u8
e:opened syscalls.sys_enter_openat $dfd:s32 $flags:x32 nr=$__syscall_nr:u16
e:done syscalls.sys_exit_openat ret=$ret:s32 if ret < 0
e:called syscalls.sys_enter_execve first=+0(+0($argv)):ustring second=+0(+8($argv)):ustring all=+0($argv):ustring[2]
e:slept syscalls.sys_enter_clock_nanosleep seconds=+0($rqtp):u64 ns=+8($rqtp):s64 low=+8($rqtp):b4@4/32 bytes=+8($rqtp):u8[8]
e:works workqueue.workqueue_execute_start function=+24($work):symbol same=$function:symbol
e:nowhere sched.sched_process_exit text=+0($pid):string kernel=+0(+8($prio)):string
"""
WORK = "for n in 1 2 3 4 5 6 7 8; do cat /absent 2>/dev/null; done; cat /proc/version /proc/uptime >/dev/null;" \
    " sleep 0.01; cat /proc/sys/vm/stat_refresh"
NAMES = {line.split(" ")[0][2:] for line in EVENTS.strip("\n").split("\n")}
# Skips the second flag, rescheduling, which an interrupt between the two probes sets.
EVENT = re.compile(r"^ *\S.*-(\d+) +\[(\d+)\] (\S)\S(\S+) +\d+\.\d+: (\w+: \(.*)", re.MULTILINE)


@case(configs=ONE_VCPU, sanitized=True)
def probes_of_events(t):
    """Probes of events: valid and invalid definitions, formats and error_log equal the guest's own. Events that both
    record have equal pids, CPUs and flags. Features that need the kernel are refused by name."""
    with t.attach() as traced:
        pairs = try_both(t, DEFINITIONS.rstrip("\n") + (CASTS if has_casts(t, traced) else ""))
        differences = [f"own:\n{a}\nhvtrace:\n{b}" for a, b in pairs if a != b]
        assert not differences, f"{len(differences)} of {len(pairs)} definitions differ:\n" + "\n".join(differences)
        for line in REFUSED.strip("\n").split("\n"):
            t.hv.fails("echo", t.name, "dynamic_events", line, says=("not supported",))
        lines = EVENTS.strip("\n")
        for line in lines.split("\n"):
            traced.echo("dynamic_events", line, append=True)
        traced.echo("buffer_size_kb", "4000")
        traced.echo("events/eprobes/enable", "1")
        assert traced.text("events/sched/sched_process_fork/enable") == "0*\n"
        own = t.guest.run(
            f"cd {OWN}; echo 4000 >buffer_size_kb; cat >dynamic_events <<'END'\n{lines}\nEND\n echo >trace;"
            f" echo 1 >events/eprobes/enable; {WORK}; echo 0 >events/eprobes/enable; cat trace; echo >dynamic_events;"
            " echo 1 >buffer_size_kb",
            timeout=300,
        )
        traced.echo("events/eprobes/enable", "0")
        own, ours = (collections.Counter(EVENT.findall(text)) for text in (own, traced.text("trace", timeout=300)))
        lost = own - ours
        names = collections.Counter(what.split(":")[0] for *_, what in own.elements())
        assert not lost and set(names) == NAMES and names["execs"] == names["called"], (lost, own, ours)
        assert names["slept"] == 1 and any("ns=10000000 " in what for *_, what in own), own
        # Not compared: the guest's own probe uses only one byte of a char * as the address.
        traced.echo("trace", "")
        traced.echo("dynamic_events", "e:named syscalls/sys_enter_openat name=+0($filename):ustring", append=True)
        traced.echo("events/eprobes/named/enable", "1")
        t.guest.run("cat /absent 2>/dev/null; cat /proc/version")
        traced.echo("events/eprobes/named/enable", "0")
        text = traced.text("trace", timeout=300)
        assert 'name="/absent"' in text and 'name="/proc/version"' in text, text
        traced.echo("dynamic_events", "")
        t.note(f"{len(pairs)} definitions; {sum(own.values())} events of the guest's own, {sum(ours.values())} of hvtrace")
