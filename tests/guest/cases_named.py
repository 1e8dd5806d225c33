# SPDX-License-Identifier: GPL-2.0-or-later
"""Probes whose arguments have names and types from BTF, compared with those in the guest's own dynamic_events."""

import collections
import re

from lib.names import Names
from lib.suite import NEWEST, OLDEST, ONE_VCPU, case
from lib.wait import until

OWN = "/sys/kernel/tracing"

# Valid and invalid definitions. The kernel logs $arg* of a function without parameters twice in error_log, and gives no
# position for a member that is not a string.
DEFINITIONS = r"""
p:x vfs_open $arg*
p:x vfs_open file path
p:x vfs_open mode=file->f_mode file->f_inode->i_ino:x32
p:x vfs_open $arg2 $arg1:x32 again=$arg2
p:x vfs_open $arg2 $arg3
p:x vfs_open $arg*:u8 more=file
p:x vfs_open file $arg*
p:x vfs_open $arg* $arg*
p:x vfs_open $arg* a=none
p:x vfs_open $argx
p:x vfs_open a=$arg*
p:x vfs_open $arg1->dentry
p:x vfs_open none
p:x no_such_function
p:x no_such_function a=none
r:x no_such_function $retval->x
p:x vfs_open a=none->mode
p:x vfs_open a=file.f_mode
p:x vfs_open a=file-f_mode
p:x vfs_open a=file->none
p:x vfs_open a=file->f_path.none
p:x vfs_open a=file->f_path-dentry
p:x vfs_open a=file->f_mode->x
p:x vfs_open a=file->f_mode.x
p:x vfs_open a=file->f_path.dentry->d_iname:string b=file->f_path.dentry->d_iname:u8[8]
p:x vfs_open a=file->f_path.dentry->d_name.name:string
p:x vfs_open a=+8(file->f_path.dentry):x64 b=+0(path)
p:x vfs_open file:string
p:x vfs_open file:u7
p:x vfs_open file:u8[3]
p:x vfs_open file.f_mode->x
p:x vfs_read file buf count pos at=buf:ustring
p:x do_sys_openat2 dfd filename how->flags name=filename:ustring
p:x wake_up_new_task who=p->comm:string p->pid p->__state p->in_iowait p->prio cpus=p->nr_cpus_allowed
p:x wake_up_new_task all=p->comm parent=p->real_parent->comm:string
r:x vfs_open $retval
r:x vfs_open $retval->x
r:x vfs_open $retval.x
r:x vfs_open $retvalue
r:x getname $retval $retval->name:string $retval->name as=$retval->refcnt.counter
r:x getname name=$retval->name:string[2]
r:x kfree $retval
r:x kfree $retval:x8
p:x kfree $retval
p:x kfree object
p:x sched_tick $arg*
p:x schedule a
f:x vfs_open $arg*
f:x vfs_open $arg1 m=file->f_mode
f:x vfs_open%return $retval
f:x getname name=$retval->name:string
f vfs_open none
p:x vfs_read name=$arg1:%pD $arg1:%pD
p:x vfs_read $arg1:%pD $arg2
p:x vfs_read x=file:%pD y=%di:%pd z=+8($arg1):%pd
p:x vfs_read x=%di:%pd y=%zz:%pD
p:x vfs_read x=%di:%pd y=%zz:%pD $arg1
p:x vfs_read 1=%di:%pD
p:x vfs_read x=none:%pd
p:x vfs_read x=:%pd :%pD
p:x vfs_read x=%di:%pdd
p:x vfs_read x=%di:%pd[2]
f:x vfs_read $arg*:%pD
f:x vfs_read name=$arg1:%pD
f:x vfs_read%return $retval:%pd
r:x vfs_open $arg1 back=$retval
r:x vfs_open $arg* $retval
r:x vfs_open a=$arg1:string
r:x vfs_open file->f_mode name=path->dentry->d_name.name:string
r:x vfs_open $arg3
r:x vfs_open a=$arg0
r:x vfs_open a=$arg9999
r:x vfs_open none
r:x vfs_open a=$argx
r:x kfree $arg1 a=+8($arg1)
f:x vfs_open%return $arg* $retval
f:x vfs_open%return a=$arg2 file->f_mode
r:x vfs_read $retval:%pD
p:x no_such_function x=%di:%pd
f:x vfs_open a=%di
f:x vfs_open a=%none
f:x vfs_open $arg1 a=%none:u7
f:x vfs_open a=+8(%si):x64
f:x vfs_open%return a=%ax
f:x vfs_open%return a=$retval b=+0(%orig_ax):string
r:x vfs_open a=%orig_ax:s64
r:x vfs_open a=+8(%orig_ax)
r:x vfs_open a=%none
"""
# For kernels whose own probes support typecasts.
CASTS = r"""
p:x vfs_open a=(dentry)file->d_name.name
p:x vfs_open a=(dentry)path->d_inode->i_ino b=(dentry)%si->d_flags c=(dentry)$stack1->d_name.name:string
p:x vfs_open a=(file)(path->dentry)->f_mode b=(file)((dentry)path->d_inode)->f_mode
p:x vfs_open a=(dentry)+8(path)->d_flags b=(dentry)(+8(path))->d_name.name:string
p:x vfs_open a=(task_struct)@init_task->pid b=(task_struct)(@init_task+0)->comm:string
p:x vfs_open a=(task_struct)@init_task+8->pid
p:x vfs_open a=(dentry,d_lru)path->d_flags b=(dentry,d_name.name)path->d_inode
p:x vfs_open a=(dentry,none)path->d_flags
p:x vfs_open a=(dentry,d_inode->i_ino)path->d_flags
p:x vfs_open a=(none)file->x
p:x vfs_open a=(vfs_open)file->x
p:x vfs_open a=(dentry)file
p:x vfs_open a=(dentry)file-d_flags
p:x vfs_open a=(dentry)(file
p:x vfs_open a=(dentry)(file)d_flags
p:x vfs_open a=(dentry)+8file->d_flags
p:x vfs_open a=(dentry)none->d_flags
p:x vfs_open a=(dentry)file->none
p:x vfs_open a=(dentry)file->d_name:string
p:x vfs_open a=(dentry)file->d_name.len:string
p:x vfs_open a=file->f_path:string
p:x vfs_open a=file->f_path.dentry->d_name:string
p:x vfs_open a=+0(+0(+0(+0(+0(+0(+0(+0(file))))))))
p:x vfs_open a=+0(+0(+0(+0(+0(+0(+0(+0(+0(file)))))))))
p:x vfs_open a=+0(+0(+0(+0(+0(+0(+0(+0(+z(file)))))))))
p:x vfs_open a=+0(+0(+0(+0(+0(+0(+0((dentry)file->d_name.name)))))))
p:x vfs_open a=+0(+0(+0(+0(+0(+0(+0(+0((dentry)file->d_flags))))))))
r:x vfs_open a=(dentry)$retval->d_flags
f:x vfs_open a=(dentry)file->d_flags
f:x vfs_open%return a=(dentry)$retval->d_flags
"""
TRY = """
cd {own}
while IFS= read -r definition; do
	echo >error_log
	echo >dynamic_events
	echo "== $definition"
	echo "$definition" 2>&1 >dynamic_events || echo refused
	sed '' dynamic_events
	[ ! -d events/*probes/x ] || grep -v ^ID events/*probes/x/format
	sed 's/^\\[.*\\] //' error_log
done <<'END'
{definitions}
END
echo >dynamic_events; echo >error_log
"""


def try_both(t, definitions):
    """Writes each of DEFINITIONS to the guest's own dynamic_events and to hvtrace's. Returns the pairs of results."""
    command = TRY.format(own=OWN, definitions=definitions.strip("\n"))
    own = t.guest.run(command, timeout=300)
    ours = t.hv("exec", t.name, "busybox", "sh", "-c", command, timeout=300)
    return list(zip(*([part.rstrip() for part in text.split("\n== ")] for text in (own, ours)), strict=True))


def has_casts(t, traced):
    """Returns whether the guest's own probes support typecasts. hvtrace's README must agree."""
    own, ours = ("(structname[,field])]<argname>" in text for text in (t.guest.run(f"cat {OWN}/README"), traced.text("README")))
    assert own == ours, (own, ours)
    return own


RECORDED = r"""
p:opened vfs_open mode=file->f_mode name=path->dentry->d_name.name:string short=path->dentry->d_iname:string
p:asked do_sys_openat2 dfd name=filename:ustring how->flags how->mode
p:begins setup_arg_pages past=bprm->point_of_no_return fd=bprm->have_execfd name=bprm->filename:string executable_stack
p:born wake_up_new_task p->comm:string p->prio p->policy p->sched_reset_on_fork mm=p->mm->owner->comm:string
r:named getname $retval->name:string orig=%orig_ax:s64
r:done vfs_open $retval
"""
FPROBES = r"""
f:all vfs_open name=path->dentry->d_name.name:string path->dentry->d_name.len
f:back getname $retval->name:string
"""
# Probes of returns: arguments of the call, and the memory that they point to at the return.
KEPT = """
r:kept vfs_open name=path->dentry->d_name.name:string file->f_mode $retval
f:keeps vfs_open%return $retval name=path->dentry->d_iname:string file->f_flags
"""
CAST = """
p:cast vfs_open name=(path)path->dentry->d_name.name:string last=(nameidata,path)path->name->name:string flags=(file)file->f_flags
"""
DENTRIES = """
p:reads security_file_open name=$arg1:%pD
f:opens vfs_open name=path->dentry:%pd
"""
WORK = "for n in 1 2 3 4 5 6 7 8; do cat /absent 2>/dev/null; done; cat /proc/version /proc/uptime >/dev/null"
EVENT = re.compile(r"\d+\.\d+: (\w+: \(.*)")
KNOWN = re.compile('"(/absent|/proc/version|version|/proc/uptime|uptime|/bin/cat|/proc/self/exe)"')


# If a kretprobe and an fprobe, which uses the function graph, share a function, the guest's own probes do not know the
# caller.
RETURNS_TO = re.compile(r"\(\S+ <- ")
NOT_KNOWN = ("(return_to_handler+", "([unknown/kretprobe'd] ")


def names_of(events):
    return {what.split(":")[0] for what in events}


def record_both(t, traced, lines, work=WORK):
    """The guest and hvtrace record WORK with the definitions LINES. Returns how often each event occurred, for both."""
    groups = "for e in events/kprobes events/fprobes events/tracepoints; do [ ! -d $e ] || echo {} >$e/enable; done"
    own = t.guest.run(
        f"cd {OWN}; cat >dynamic_events <<'END'\n{lines}\nEND\n echo 4000 >buffer_size_kb; {groups.format(1)}; echo >trace; {work};"
        f" {groups.format(0)}; cat trace; echo >dynamic_events; echo 1 >buffer_size_kb",
        timeout=300,
    )
    for line in lines.split("\n"):
        traced.echo("dynamic_events", line, append=True)
    t.hv("exec", t.name, "busybox", "sh", "-c", f"cd {OWN}; {groups.format(1)}")
    t.guest.run(work)
    t.hv("exec", t.name, "busybox", "sh", "-c", f"cd {OWN}; {groups.format(0)}")
    ours = traced.text("trace", timeout=300)
    traced.echo("dynamic_events", "")
    own, ours = (EVENT.findall(text) for text in (own, ours))
    if any(unknown in what for what in own for unknown in NOT_KNOWN):
        own, ours = ([RETURNS_TO.sub("(<- ", what) for what in events] for events in (own, ours))
    return collections.Counter(own), collections.Counter(ours)


@case(configs=ONE_VCPU)
def arguments_by_names(t):
    """Arguments by the names of parameters and members: valid and invalid definitions, formats, error_log with
    positions, and recorded events equal the guest's own, if its kernel supports names. Otherwise hvtrace still
    supports them."""
    has_btf_args = "btf_find_func_proto" in t.guest.run("grep -w btf_find_func_proto /proc/kallsyms || true")
    with t.attach() as traced:
        if not has_btf_args:
            return foreign(t, traced)
        pairs = try_both(t, DEFINITIONS.rstrip("\n") + (CASTS if has_casts(t, traced) else ""))
        differences = [f"own:\n{a}\nhvtrace:\n{b}" for a, b in pairs if a != b]
        assert not differences, f"{len(differences)} of {len(pairs)} definitions differ:\n" + "\n".join(differences)
        lines = (RECORDED + FPROBES.lstrip()).strip("\n")
        has_dentries = "%pd/%pD" in t.guest.run(f"cat {OWN}/README")
        assert has_dentries == ("%pd/%pD" in traced.text("README"))
        lines += DENTRIES.rstrip("\n") if has_dentries else ""
        has_kept = "kernel return probes support:" in t.guest.run(f"cat {OWN}/README")
        assert has_kept == ("kernel return probes support: $retval, $arg<N>, $comm" in traced.text("README"))
        lines += KEPT.rstrip("\n") if has_kept else ""
        lines += CAST.rstrip("\n") if has_casts(t, traced) else ""
        lines = Names(t.guest).in_text(lines, "getname", "d_iname")
        own, ours = record_both(t, traced, lines)
        known = {what: nr for what, nr in own.items() if KNOWN.search(what)}
        lost = {what: (nr, ours[what]) for what, nr in known.items() if ours[what] < nr}
        assert not lost and names_of(own) == names_of(ours) and len(names_of(ours)) == lines.count("\n") + 1, (lost, own, ours)
        wanted = {"opened", "asked", "begins", "named", "all", "back"} | ({"reads", "opens"} if has_dentries else set())
        wanted |= {"kept", "keeps"} if has_kept else set()
        wanted |= {"cast"} if has_casts(t, traced) else set()
        assert names_of(known) >= wanted, known
        t.note(f"{len(pairs)} definitions; {len(known)} different events, {sum(known.values())} in all")
    return None


def foreign(t, traced):
    """Checks hvtrace's probes in a kernel whose own probes do not support names."""
    for line in RECORDED.strip("\n").split("\n"):
        traced.echo("dynamic_events", line, append=True)
    traced.echo("events/kprobes/enable", "1")
    t.guest.run(WORK)
    traced.echo("events/kprobes/enable", "0")
    found = EVENT.findall(traced.text("trace", timeout=300))
    known = [what for what in found if KNOWN.search(what)]
    assert len(names_of(found)) == 6 and names_of(known) >= {"opened", "asked", "begins", "named"}, found
    traced.echo("dynamic_events", "")


# Functions of a module. The type ids of its BTF continue after the kernel's.
OF_MODULE = r"""
p:x dummy_xmit $arg*
p:x dummy_xmit skb->len dev->mtu name=dev->name:string
p:x dummy_xmit $arg1 $arg2:x32
p:x dummy:dummy_xmit $arg1 $arg2:x32
p:x dummy_xmit none
p:x dummy_xmit skb->none
p:x dummy_get_stats64 stats->rx_packets
r:x dummy_xmit $retval
r:x dummy_dev_init $retval
r:x dummy_setup $retval
r:x dummy_xmit $retval->x
f:x dummy_xmit skb->len
"""
STATS = "p:stats dummy_get_stats64 name=dev->name:string mtu=dev->mtu ifindex=dev->ifindex"
READ_STATS = "for n in 1 2 3 4 5; do cat /proc/net/dev >/dev/null; done"


@case(configs=ONE_VCPU)
def arguments_of_module_functions(t):
    """Arguments by name for functions of a module: valid and invalid definitions, formats and error_log equal the
    guest's own, if its kernel supports names. In every kernel the values are correct for the module's device."""
    has_btf_args = "btf_find_func_proto" in t.guest.run("grep -w btf_find_func_proto /proc/kallsyms || true")
    t.guest.run("insmod /modules/dummy.ko")
    try:
        with t.attach() as traced:
            if has_btf_args:
                pairs = try_both(t, OF_MODULE)
                differences = [f"own:\n{a}\nhvtrace:\n{b}" for a, b in pairs if a != b]
                assert not differences, f"{len(differences)} of {len(pairs)} definitions differ:\n" + "\n".join(differences)
                own, ours = record_both(t, traced, STATS, READ_STATS)
                assert own == ours and sum(own.values()) == 5, (own, ours)
            # The guest's own probes never support MODULE:FUNCTION by names.
            traced.echo("dynamic_events", STATS.replace("dummy_get", "dummy:dummy_get"))
            traced.echo("events/kprobes/enable", "1")
            index, mtu = t.guest.run(f"{READ_STATS}; cat /sys/class/net/dummy0/ifindex /sys/class/net/dummy0/mtu").split()
            traced.echo("events/kprobes/enable", "0")
            found = EVENT.findall(traced.text("trace", timeout=300))
            says = f'name="dummy0" mtu={mtu} ifindex={index}'
            assert len(found) == 5 and all(what.endswith(says) for what in found), (says, found)
            traced.echo("dynamic_events", "")
    finally:
        t.guest.run("rmmod dummy")


TRACEPOINTS = r"""
t sched_process_exec $arg*
t:x sched_process_exec who=p->comm:string old_pid name=bprm->filename:string past=bprm->point_of_no_return
t:x sched_process_exec $arg2 who=$arg1 $arg3:x32
t:x sched_process_exec $arg4
t:x sched_process_exec p->none
t:x sched_process_exec __data
t:x sched_process_exec $retval
t:x sched_process_exec%return
t:x sched-process_exec
t2:x sched_process_exec
f2:x vfs_open
f2:x vfs_open%return $retval
t:x sys_enter id regs->di
t:x sched_process_exec a=%di
t:x sched_process_exec a=%none
t:x sched_process_exec a=+8(%si):x64
"""
EXECS = r"""
t:execs sched_process_exec who=p->comm:string past=bprm->point_of_no_return name=bprm->filename:string pid=p->pid old=old_pid
t:ended sys_exit ret name=+0(regs->si):ustring
t:calls sys_enter id:u16 name=+0(regs->di):ustring
"""
PIDS = re.compile(r" pid=\d+ old=\d+")


@case(configs=(NEWEST,), sanitized=True)
def newest_kernels_definitions(t):
    """All valid and invalid definitions equal the newest kernel's own: it looks for functions before arguments, some
    functions of other kernels are inline in it, and its fprobes have no MAXACTIVE."""
    with t.attach() as traced:
        pairs = try_both(t, DEFINITIONS.rstrip("\n") + (CASTS.rstrip("\n") if has_casts(t, traced) else "") + TRACEPOINTS)
        differences = [f"own:\n{a}\nhvtrace:\n{b}" for a, b in pairs if a != b]
        assert not differences, f"{len(differences)} of {len(pairs)} definitions differ:\n" + "\n".join(differences)
        assert not traced.text("dynamic_events")
        t.note(f"{len(pairs)} definitions")


@case(configs=ONE_VCPU)
def probes_of_tracepoints(t):
    """Probes of tracepoints, if the guest's kernel has them: valid and invalid definitions and recorded events equal
    the guest's own. They continue while the guest records events of the same tracepoint, and afterwards. The
    tracepoint's own event is refused in that time. After kill -9, recover removes the probe and keeps the guest's
    own."""
    has_them = "trace_fprobe_create" in t.guest.run("grep -w trace_fprobe_create /proc/kallsyms || true")
    with t.attach() as traced:
        if not has_them:
            t.hv.fails("echo", t.name, "dynamic_events", "t sched_switch", says=("Invalid argument",))
            return
        pairs = try_both(t, TRACEPOINTS)
        differences = [f"own:\n{a}\nhvtrace:\n{b}" for a, b in pairs if a != b]
        assert not differences, f"{len(differences)} of {len(pairs)} definitions differ:\n" + "\n".join(differences)
        own, ours = record_both(t, traced, EXECS.strip("\n"))
        own, ours = (
            collections.Counter(PIDS.sub("", what) for what in events.elements() if KNOWN.search(what))
            for events in (own, ours)
        )
        lost = {what: (nr, ours[what]) for what, nr in own.items() if ours[what] < nr}
        assert not lost and names_of(own) == {"execs", "ended", "calls"}, (lost, own, ours)
        traced.echo("dynamic_events", "t:execs sched_process_exec name=bprm->filename:string")
        traced.echo("dynamic_events", "t:again sched_process_exec name=bprm->filename:string", append=True)
        traced.echo("events/tracepoints/enable", "1")
        t.hv.fails("echo", t.name, "events/sched/sched_process_exec/enable", "1", says=("another event",))
        event = f"{OWN}/events/sched/sched_process_exec/enable"
        t.guest.run(f"{WORK}; echo 1 >{event}; {WORK}; echo 0 >{event}; {WORK}; echo >{OWN}/trace", timeout=300)
        traced.echo("events/tracepoints/enable", "0")
        found = collections.Counter(EVENT.findall(traced.text("trace", timeout=300)))
        execs = {names_of([what]).pop(): nr for what, nr in found.items() if '"/proc/self/exe"' in what}
        assert execs.keys() == {"execs", "again"} and all(nr >= 3 * 9 for nr in execs.values()), found
        traced.echo("dynamic_events", "")
        t.note(f"{len(pairs)} definitions; {sum(own.values())} events")
    traced = t.attach().__enter__()
    traced.echo("dynamic_events", "t:execs sched_process_exec name=bprm->filename:string")
    traced.echo("events/tracepoints/execs/enable", "1")
    t.guest.run(f"echo 1 >{event}; {WORK}")  # the guest's own array contains hvtrace's callback, too
    traced.kill()
    t.guest.run(WORK)
    said = t.recover()
    assert "1 event of the guest switched off" in said, said
    t.guest.run(f"{WORK}; grep -q sched_process_exec: {OWN}/trace; echo 0 >{event}; {WORK}; echo >{OWN}/trace")


def offset_of(t, function):
    """Returns the distance of FUNCTION from _text."""
    at = dict(line.split()[::2] for line in t.guest.run(f"grep -E ' (_text|{function})$' /proc/kallsyms | sed 's/\\(.*\\) . \\(.*\\)/\\2 . \\1/'").splitlines())
    return int(at[function], 16) - int(at["_text"], 16)


def twice(t):
    """Returns a name that two traceable functions share."""
    names = "sed 's/ .*//' available_filter_functions | grep -v '[.]' | sort | uniq -d"
    return t.guest.run(f"cd {OWN}; {names} | grep -x -e bad_inode_permission -e 't_next' -e 's_next' -e 'c_stop' -e 'show' -e m_next -e name_show | head -n 1; true").strip()


# {N}: from _text to vfs_open; {TWO}: a name that two functions share; {LONG}: 60 characters
PLACES = """
r:p/x _text+{N}
r:p/x _text+{N} $retval
r _text+{N}
p _text+{N}
p vfs_open+4
p:p/x _text+{N}
p:x _text+{N}%return
r:x _text+{M}
r:x vfs_open+4
r:x vfs_open+1
r:x vfs_open+0
p:x vfs_open+4%return
p:x not_loaded:some_function
r:x not_loaded:some_function $retval
p:x not_loaded:some_function+4
p:x no_such_function
p:x no_such_function+4
r:x no_such_function
p:x {TWO}
r:x {TWO}
p:x {TWO}+4
p:x vfs_open {ARGS128}
p:x vfs_open {ARGS129}
p:x vfs_open {ARGS130}
"""
# Kernels up to 5.10 accept names of 64 characters, but no hyphens, dots, or groups alone.
NAMES_OF_EVENTS = """
p:my-group/x vfs_open
p:my-group/my-x vfs_open
p:-my/x vfs_open
p:9my/x vfs_open
p:my.x vfs_open
p:x/ vfs_open
p:{LONG}123 vfs_open
p:{LONG}1234 vfs_open
p:{LONG}12345 vfs_open
p:{LONG}123/x vfs_open
p:{LONG}1234/x vfs_open
p:p/{LONG}1234 vfs_open
"""


@case(configs=(*ONE_VCPU[1:], OLDEST, NEWEST), further=ONE_VCPU[:1])
def places_and_names_of_probes(t):
    """Functions with offsets, long and unusual names, modules that are not loaded, ambiguous names, too many arguments:
    valid and invalid definitions equal the guest's own."""
    with t.attach():
        n = offset_of(t, "vfs_open")
        args = {f"ARGS{nr}": " ".join(f"a{i}=%ax:u8" for i in range(nr)) for nr in (128, 129, 130)}
        definitions = PLACES.format(N=n, M=n + 1, TWO=twice(t), LONG="n" * 60, **args)
        if "[<event>]" in t.guest.run(f"cat {OWN}/README"):
            definitions += NAMES_OF_EVENTS.format(LONG="n" * 60)
        pairs = try_both(t, definitions)
        # Some kernels refuse too many arguments without a log entry; others log a whole very long command.
        logged = "\ntrace_kprobe: error: Too many arguments are specified"
        pairs = [(a.split(logged)[0], b.split(logged)[0]) for a, b in pairs]
        differences = [f"own:\n{a}\nhvtrace:\n{b}" for a, b in pairs if a != b]
        assert not differences, f"{len(differences)} of {len(pairs)} definitions differ:\n" + "\n".join(differences)
        t.note(f"{len(pairs)} definitions")


@case(configs=(*ONE_VCPU, OLDEST), sanitized=True)
def probes_wait_for_their_module(t):
    """Probes of functions in a module that is not loaded record once it is loaded. A probe of a function that the
    module lacks never records, and disturbs no other probe."""
    with t.attach() as traced:
        definitions = ("p:first dummy:dummy_get_stats64 %di", "r:second dummy:dummy_get_stats64", "p:third dummy:none")
        for line in definitions:
            traced.echo("dynamic_events", line, append=True)
        traced.echo("events/kprobes/enable", "1")
        t.guest.run("insmod /modules/dummy.ko")
        try:
            assert until(lambda: re.search(r"^r\d+:kprobes/second", traced.text("dynamic_events"), re.M))
            t.guest.run(READ_STATS)
            traced.echo("events/kprobes/enable", "0")
            text = traced.text("trace", timeout=300)
            counts = [len(re.findall(rf": {name}: ", text)) for name in ("first", "second", "third")]
            assert counts == [5, 5, 0], (counts, text[-2000:])
            traced.echo("dynamic_events", "")
        finally:
            t.guest.run("rmmod dummy")
