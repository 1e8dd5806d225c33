# SPDX-License-Identifier: GPL-2.0-or-later
"""The guest's own events: the tree's files about them, compared with the guest's own tracefs."""

import collections
import dataclasses
import os
import re
import shutil
import struct
import subprocess
import tempfile

from cases_beside import kill, settle, victims
from lib.names import Names
from lib.suite import NEWEST, OLDEST, ONE_VCPU, STANDARD, Skip, case
from lib.wait import HANG_SECONDS

OWN = "/sys/kernel/tracing"
# Modules with many events: 27 with what they depend on.
MODULES = ("dummy", "xfs", "kvm", "sunrpc", "nfsv4", "cifs", "btrfs", "libata", "l2tp_core", "cachefiles")
WITH_MODULES = tuple(dataclasses.replace(config, modules=MODULES) for config in ONE_VCPU)
FILES = "find events -name format -o -name id | LC_ALL=C sort"
SINGLE = "available_events printk_formats events/header_page events/header_event"


def read_own(t, command):
    return t.guest.run_bytes(f"cd {OWN} && {command}")


def read_ours(t, command):
    return t.hv.bytes("exec", t.name, "sh", "-c", f"cd {OWN} && {command}", timeout=600)


def first_difference(own, ours):
    """Returns the first line that differs, below the name of its event."""
    name, mine, theirs = b"", own.splitlines(), ours.splitlines()
    for i, line in enumerate(mine):
        if line.startswith(b"name: "):
            name = line
        if i >= len(theirs) or theirs[i] != line:
            return f"{name!r}: own {line!r}, hvtrace {theirs[i] if i < len(theirs) else b'nothing'!r}"
    return f"hvtrace has more: {theirs[len(mine)]!r}" if len(theirs) > len(mine) else "white space"


def same(t, command):
    own, ours = read_own(t, command), read_ours(t, command)
    assert own == ours, f"{command}: {first_difference(own, ours)}"
    return own


@case(configs=WITH_MODULES)
def events_are_as_the_guest_says(t):
    """format and id of every event of the core kernel and of modules are equal byte for byte, also after modules are
    loaded and removed; the guest's own probes are not among them."""
    t.guest.run("for m in $(cat /modules/order); do insmod /modules/$m.ko; done")
    try:
        with t.attach() as traced:
            names = same(t, FILES).split()
            same(t, f"cat {SINGLE}")
            same(t, f"{FILES} | xargs cat")
            t.note(f"{len(names)} files are identical")
            t.guest.run(f"echo 'p:mine vfs_read' >{OWN}/kprobe_events")
            own = read_own(t, "cat available_events").replace(b"kprobes:mine\n", b"")
            assert own == traced.text("available_events").encode(), "with a probe of the guest's own"
            assert "kprobes" not in t.hv("ls", t.name, "events")
            t.guest.run(f"echo >{OWN}/kprobe_events; for m in $(tac /modules/order); do rmmod $m; done")
            assert b"xfs" not in same(t, "cat available_events")
            assert same(t, FILES).count(b"\n") < len(names)
            t.guest.run("insmod /modules/libcrc32c.ko; insmod /modules/xfs.ko")
            assert b"xfs:" in same(t, "cat available_events")
            same(t, "cat events/xfs/*/format")
    finally:
        t.guest.run(f"echo >{OWN}/kprobe_events; for m in $(tac /modules/order); do rmmod $m 2>/dev/null; done; true")


EVENT = re.compile(r"^\s*(.+)-(\d+)\s+\[(\d+)\] (\S+)\s+(\d+\.\d{6}): (\w+(?:: |\(| -> ).*)$")
SYSTEMS = ("sched", "irq", "timer", "kmem", "signal", "workqueue", "exceptions")
# Most kernels of Debian switch this one on by a function of its own, which is the other.
REFUSED, SWITCHED_BY = "mmap_lock:mmap_lock_released", "trace_mmap_lock_reg"
WORK = "ls -l /proc >/dev/null; sleep 0.1; for i in 1 2 3; do sleep 1 & kill -9 $!; done; wait; cat /proc/stat >/dev/null"


def events_of(text):
    """Returns [(time, (pid, CPU, flags, text))]. A task's name is left out: the guest shows one name for all events of
    a task, its last, and hvtrace the one that it had. So is the flag of rescheduling: an interrupt between the two
    probes of an event may set it."""
    assert "LOST" not in text
    found = [match for match in map(EVENT.match, text.splitlines()) if match]
    return [(float(match[5]), (match[2], match[3], match[4][0] + match[4][2:], match[6])) for match in found]


def between(events, first, last):
    return collections.Counter(key for when, key in events if first < when < last)


def agree(own, ours):
    """What the guest has recorded is in what hvtrace has recorded, and nothing else from that time. An event of a probe
    that an interrupt came into is before that of the interrupt in the one and behind it in the other."""
    counted = collections.Counter(key for _, key in own)
    missing = counted - collections.Counter(key for _, key in ours)
    assert not missing, f"{sum(missing.values())} events only in the guest's own trace: {sorted(missing)[:5]}"
    extra = between(ours, own[0][0] + 0.001, own[-1][0] - 0.001) - counted
    assert not extra, f"{sum(extra.values())} events only in hvtrace's trace: {sorted(extra)[:5]}"


@case(configs=ONE_VCPU)
def events_agree_with_the_guests_own(t):
    """The guest and hvtrace record the same events at the same time, beside each other: same tasks, CPUs, flags and
    texts. An instance has its own. What cannot be recorded is refused with the reason. record -e carries events into
    a file that trace-cmd reads."""
    with t.attach() as traced, tempfile.TemporaryDirectory() as work:
        if t.guest.run(f"grep -w {SWITCHED_BY} /proc/kallsyms || true"):
            t.hv.fails("echo", t.name, f"events/{REFUSED.replace(':', '/')}/enable", "1", says=(REFUSED, "not supported"))
        assert traced.text("set_event") == "" and traced.text("events/enable") == "0\n"
        traced.echo("tracing_on", "0")
        for system in SYSTEMS:
            traced.echo(f"events/{system}/enable", "1")
        t.hv("mkdir", t.name, "instances/a")
        traced.echo("instances/a/set_event", "sched:sched_switch")
        traced.echo("tracing_on", "1")
        own = t.guest.run(
            f"cd {OWN}; echo 0 >tracing_on; echo 20000 >buffer_size_kb; "
            + "".join(f"echo 1 >events/{system}/enable; " for system in SYSTEMS)
            + f"echo >trace; echo 1 >tracing_on; {WORK}; echo 0 >tracing_on; echo 0 >events/enable; cat trace",
            timeout=300,
        )
        traced.echo("tracing_on", "0")
        ours = traced.text("trace", timeout=300)
        agree(events_of(own), events_of(ours))
        assert any(key[3].startswith("page_fault_") for _, key in events_of(own))
        switches = [event for event in events_of(ours) if event[1][3].startswith("sched_switch: ")]
        its_own = events_of(traced.text("instances/a/trace"))
        assert [event for event in its_own if switches[0] <= event <= switches[-1]] == switches, "of the instance"
        traced.echo("events/enable", "0")
        assert traced.text("set_event") == "" and traced.text("instances/a/events/enable") == "X\n"
        t.hv("rmdir", t.name, "instances/a")
        traced.echo("trace", "")
        traced.echo("tracing_on", "1")
        data = f"{work}/t.dat"
        recording = t.hv.start("record", "-e", "sched:sched_sw*", "-e", "irq", "-o", data, t.name)
        t.await_event(recording, "irq")
        t.guest.run(WORK)
        t.end_recording(recording)
        if shutil.which("trace-cmd"):
            done = subprocess.run(["trace-cmd", "report", "-i", data], capture_output=True, timeout=HANG_SECONDS, check=True)
            report = done.stdout.decode()
            assert re.search(r" sched_switch: +\S+:\d+ \[\d+\] \S+ ==> ", report) and " softirq_entry: " in report, report[:1000]
        t.guest.run(f"echo 1 >{OWN}/tracing_on; echo >{OWN}/trace; echo 1 >{OWN}/buffer_size_kb")
        t.note(f"{len(events_of(own))} events of {len(events_of(ours))} in both")


def alike(own, ours):
    """Both without the column migrate-disable if the guest's kernel is older than that column."""
    width = len(own[0][1][2])
    return own, [(when, (pid, cpu, flags[:width], text)) for when, (pid, cpu, flags, text) in ours]


# What an argument of a system call points to: a string, or bytes and what can be read of them.
POINTED = re.compile(r' "[^"]*"(\.\.\.)?| \([0-9a-f:]*(, \.\.\.)?\)')
FAULTS = (' "(fault)"', " (, ...)")


def without_memory(key):
    return (*key[:3], POINTED.sub("", key[3]))


def faults_told(own, ours):
    """Returns OURS, where what hvtrace says that it could not read is as the guest has it, and how many of those there are.
    The guest's own events wait for the page."""
    lacking, forms, told = collections.Counter(key for _, key in own), collections.defaultdict(list), []
    lacking -= collections.Counter(key for _, key in ours)
    for key in lacking.elements():
        forms[without_memory(key)].append(key)
    nr = 0
    for when, key in ours:
        if any(fault in key[3] for fault in FAULTS) and forms[without_memory(key)]:
            key = forms[without_memory(key)].pop()
            nr += 1
        told.append((when, key))
    return told, nr


CALLS = "workload calls 2 >/tmp/calls & until grep -q ^pid /tmp/calls; do sleep 0.1; done; kill -USR1 $!; wait; rm /tmp/calls"


@case(configs=(*ONE_VCPU, OLDEST))
def system_calls_agree_with_the_guests_own(t):
    """The guest and hvtrace record the events of all system calls at the same time: the same ones, with the same
    texts, of calls that fail, are restarted, never return, or are of 32-bit programs. Nobody sees the raw events who
    has not asked for them. record -e carries them into a file that trace-cmd reads."""
    with t.attach() as traced, tempfile.TemporaryDirectory() as work:
        traced.echo("tracing_on", "0")
        t.hv("mkdir", t.name, "instances/a")
        traced.echo("instances/a/set_event", "raw_syscalls:sys_enter syscalls:sys_exit_close")
        traced.echo("events/syscalls/enable", "1")
        assert traced.text("events/syscalls/enable") == "1\n" and traced.text("events/raw_syscalls/enable") == "0\n"
        traced.echo("tracing_on", "1")
        own = t.guest.run(
            f"cd {OWN}; echo 0 >tracing_on; echo 20000 >buffer_size_kb; echo 1 >events/syscalls/enable; echo >trace;"
            f" echo 1 >tracing_on; {CALLS}; echo 0 >tracing_on; echo 0 >events/enable; cat trace",
            timeout=300,
        )
        traced.echo("tracing_on", "0")
        ours = traced.text("trace", timeout=300)
        agree(*alike(events_of(own), faults_told(events_of(own), events_of(ours))[0]))
        texts = [key[3] for _, key in events_of(own)]
        for what in (r"sys_openat\(.*\)", r"sys_openat -> 0xfffffffffffffffe", r".* -> 0xfffffffffffffdfc", r"sys_restart_syscall\(\)", r"sys_exit_group\(.*\)"):
            assert any(re.fullmatch(what, text) for text in texts), f"no {what}"
        its_own = [key[3] for _, key in events_of(traced.text("instances/a/trace"))]
        assert any(text.startswith("sys_enter: NR 20 ") for text in its_own), "the call of a 32-bit program"
        assert all(text.startswith(("sys_enter: NR ", "sys_close -> ")) for text in its_own)
        assert any(text.startswith("sys_close -> ") for text in its_own)
        t.hv("rmdir", t.name, "instances/a")
        traced.echo("events/enable", "0")
        traced.echo("trace", "")
        traced.echo("tracing_on", "1")
        data = f"{work}/t.dat"
        recording = t.hv.start("record", "-e", "syscalls:sys_*_openat", "-o", data, t.name)
        t.await_event(recording, "openat")
        t.guest.run("ls /proc >/dev/null; cat /absent; true")
        t.end_recording(recording)
        if shutil.which("trace-cmd"):
            done = subprocess.run(["trace-cmd", "report", "-i", data], capture_output=True, timeout=HANG_SECONDS, check=True)
            report = done.stdout.decode()
            assert re.search(r" sys_enter_openat: +dfd: 0x", report) and " sys_exit_openat: " in report, report[:1000]
            assert "sys_enter:" not in report and "sys_enter_close" not in report, report[:1000]
        t.guest.run(f"echo 1 >{OWN}/tracing_on; echo >{OWN}/trace; echo 1 >{OWN}/buffer_size_kb")
        t.note(f"{len(texts)} events of {len(events_of(ours))} in both")


# Strings with what is not printed, that are too long, that are two, or nowhere.
STRINGS = (
    "cat /absent; cat $(printf '/a\\001b'); cat /absent/0123456789012345678901234567890123456789012345678901234567890123456789;"
    " mv /absent /missing; mkdir /tmp/d; rmdir /tmp/d; touch /tmp/f; rm /tmp/f; hostname $(hostname);"
    " printf 'three\\n\\t' >/dev/null; head -c 300 /dev/zero >/dev/null; uname; true"
)

# Of these calls with what they point to.
SHOWN = (
    r'sys_openat\(dfd: 4294967196, filename: \d+ "/absent", flags: O_RDONLY(\|O_LARGEFILE)?\)',
    r'sys_openat\(dfd: 4294967196, filename: \d+ "/a\.b", flags: .*\)',
    r'sys_openat\(dfd: 4294967196, filename: \d+ "/absent/[0-9]{55}\.\.\.", flags: .*\)',
    r'sys_rename\(oldname: 0x[0-9a-f]+ "/absent", newname: 0x[0-9a-f]+ "/missing"\)',
    r'sys_write\(fd: 1, buf: 0x[0-9a-f]+ \(74:68:72:65:65:0a:09\) "three\.\.", count: 7\)',
    r"sys_execve\(filename: 0x[0-9a-f]+ \".+\", argv: 0x[0-9a-f]+, envp: 0x[0-9a-f]+\)",
)


def both_record(t, traced, system, calls):
    """Has the guest and hvtrace, which has the events of SYSTEM on, record CALLS. Returns the events of both."""
    traced.echo("tracing_on", "1")
    own = t.guest.run_own(
        f"cd {OWN}; echo 0 >tracing_on; echo 20000 >buffer_size_kb; echo 1 >events/{system}/enable; echo >trace;"
        f" echo 1 >tracing_on; {calls}; echo 0 >tracing_on; echo 0 >events/enable; cat trace",
        timeout=300,
    )
    traced.echo("tracing_on", "0")
    return events_of(own), events_of(traced.text("trace", timeout=300))


SLEEPERS = "(sleep 3000 & sh -c 'sleep 3000; true' &) >/dev/null 2>&1 </dev/null; sleep 0.5"


@case(configs=(dataclasses.replace(NEWEST, vcpus=1, in_turn=False),))
def system_calls_where_probes_may_sleep(t):
    """In kernels that call the probes of system calls where they may sleep, the guest and hvtrace record raw_syscalls at the
    same time, and then all of syscalls, with strings and bytes of the program: the same events. A probe of the tracepoint
    records, too. While tasks sleep in system calls, detach and, after kill -9, recover come to an end."""
    t.guest.run(SLEEPERS)
    try:
        with t.attach() as traced:
            traced.echo("dynamic_events", "t:calls sys_enter id:u16")
            traced.echo("events/tracepoints/calls/enable", "1")
            t.guest.run("cat /absent; true")
            assert re.search(r" calls: \(.*\) id=257\n", traced.text("trace")), "no openat"
            traced.echo("events/enable", "0")
            traced.echo("dynamic_events", "")
            traced.echo("trace", "")
            traced.echo("tracing_on", "0")
            traced.echo("events/raw_syscalls/enable", "1")
            own, ours = both_record(t, traced, "raw_syscalls", CALLS)
            agree(*alike(own, ours))
            traced.echo("events/enable", "0")
            traced.echo("trace", "")
            traced.echo("events/syscalls/enable", "1")
            assert traced.text("events/syscalls/enable") == "1\n" and traced.text("error_log") == ""
            own, ours = both_record(t, traced, "syscalls", f"{CALLS}; {STRINGS}")
            ours, nr_faults = faults_told(own, ours)
            agree(*alike(own, ours))
            texts = [key[3] for _, key in ours]
            for what in SHOWN:
                assert any(re.fullmatch(what, text) for text in texts), f"no {what}"
        t.hv("attach", t.name)
        t.hv("echo", t.name, "events/raw_syscalls/enable", "1")
        t.guest.run("ls /proc >/dev/null")
        for pid in [victims(t)[kind] for kind in ("warden", "service")]:
            kill(pid)
    finally:
        settle(t)
        t.guest.run(f"killall sleep; echo 1 >{OWN}/tracing_on; echo >{OWN}/trace; echo 1 >{OWN}/buffer_size_kb")
    t.note(f"{len(own)} events of {len(ours)} in both, of {nr_faults} hvtrace says that it could not read")


OPENS = "for i in 1 2 3; do cat /absent 2>/dev/null; ls /proc >/dev/null; done; true"
FETCHES = r'dfd=%di:s32 file=$arg2 how=%dx low=%si:b4@4/32 c=$comm n=\5:u8 text=\"hello" ip=%ip:symbol from=$stack0:symbol'
PROBED = re.compile(r"mine: \(do_sys_openat2\+\S+\) dfd=(-?\d+) file=0x([0-9a-f]+) how=\S+ low=(\d+) c=\"(.*)\" n=5 text=\"hello\" .*")
# Kernels that show the name behind its address show numbers in decimal.
OPENED = re.compile(r"sys_openat\(dfd: ([0-9a-f]+), filename: ([0-9a-f]+)(, | \")")


def probed(text):
    """Returns [(time, (pid, CPU, flags, text))] of the events of the probe."""
    return [event for event in events_of(text) if event[1][3].startswith("mine: ")]


def forms(events):
    """The flags and texts of the probe's events in the tasks of cat, without what differs from task to task."""
    found = (key for _, key in events if ' c="cat"' in key[3])
    return {(key[2], re.sub(r"(file|how)=0x[0-9a-f]+|low=\d+", r"\1", key[3])) for key in found}


@case(configs=(*ONE_VCPU, OLDEST))
def probes_at_the_entries_of_functions(t):
    """A probe of kprobe_events has the format and the text of the guest's own, and the arguments that the guest's own
    events of system calls have at the same time. The guest's own probe of a function comes first. record -k carries
    its events, and detach leaves nothing."""
    with t.attach() as traced, tempfile.TemporaryDirectory() as work:
        mine = f"p:mine do_sys_openat2 {FETCHES}"
        t.guest.run(f"cd {OWN}; echo '{mine}' >kprobe_events; echo >trace; echo 1 >events/kprobes/mine/enable")
        traced.echo("kprobe_events", mine)
        t.hv.fails("echo", t.name, "events/kprobes/mine/enable", "1", says=("kprobes:mine", "the guest itself uses its function"))
        own_format = t.guest.run(f"{OPENS}; cd {OWN}; echo 0 >events/kprobes/mine/enable; cat events/kprobes/mine/format")
        own_line, own = t.guest.run(f"cat {OWN}/kprobe_events"), probed(t.guest.run(f"cat {OWN}/trace"))
        assert WITHOUT_ID.sub("", traced.text("events/kprobes/mine/format")) == WITHOUT_ID.sub("", own_format)
        assert traced.text("kprobe_events") == own_line == traced.text("dynamic_events")
        t.guest.run(f"cd {OWN}; echo >kprobe_events; echo >trace; echo 1 >events/syscalls/sys_enter_openat/enable")
        traced.echo("events/kprobes/enable", "1")
        t.guest.run(OPENS)
        traced.echo("events/kprobes/enable", "0")
        calls = events_of(t.guest.run(f"cd {OWN}; echo 0 >events/enable; cat trace; echo >trace"))
        ours = probed(traced.text("trace"))
        own_forms, our_forms = map(forms, alike(own, ours))
        assert own_forms and own_forms == our_forms, (own_forms, our_forms)
        found = [(key[0], *PROBED.fullmatch(key[3]).groups()[:2]) for _, key in ours]
        wanted = [(key[0], *OPENED.match(key[3]).groups()) for _, key in calls]
        wanted = [(pid, *(int(number, 16 if end == ", " else 10) for number in numbers)) for pid, *numbers, end in wanted]
        wanted = [(pid, str((dfd & 0xFFFFFFFF) - (1 << 32)), f"{name:x}") for pid, dfd, name in wanted]
        first = wanted.index(found[0])
        assert len(found) > 9 and wanted[first : first + len(found)] == found, (wanted, found)
        hits = traced.text("kprobe_profile").split()
        assert hits == ["mine", str(len(found)), "0"], hits
        t.hv("echo", "-a", t.name, "kprobe_events", "-:mine")
        data = f"{work}/t.dat"
        recording = t.hv.start("record", "-k", mine, "-o", data, t.name)
        t.await_event(recording, "mine")
        t.guest.run(OPENS)
        t.end_recording(recording)
        if shutil.which("trace-cmd"):
            done = subprocess.run(["trace-cmd", "report", "-i", data], capture_output=True, timeout=HANG_SECONDS, check=True)
            report = done.stdout.decode()
            assert re.search(r' mine: .* dfd=-100 .* c="cat" n=5 text="hello" ', report), report[:1000]
        assert traced.text("kprobe_events") == "", traced.text("kprobe_events")
        traced.echo("kprobe_events", "p vfs_open first=$arg1")
        assert traced.text("kprobe_events") == "p:kprobes/p_vfs_open_0 vfs_open first=$arg1\n", traced.text("kprobe_events")
        traced.echo("events/kprobes/enable", "1")
        t.guest.run(f"echo 1 >{OWN}/tracing_on; echo 1 >{OWN}/buffer_size_kb")
        t.note(f"{len(found)} of {len(wanted)} calls")


# What is read of memory, of do_sys_openat2(dfd, filename, how) and of vfs_open(path, file): strings of both spaces, what
# cannot be read, arrays, bits, symbols, the stack, pointers to pointers.
MEMORY = {
    "do_sys_openat2": r"name=+0(%si):ustring again=+u0(%si):string how=+0(%dx):x64 first=+0(%si):s8"
    r" bytes=+0(%si):u8[4] bits=+0(%si):b4@4/16 words=+0(%dx):x32[3] second=$stack1 sixth=$stack6:x32 sp=+8(%sp):symbol",
    "vfs_open": r"name=+0(+40(+8(%di))):string parent=+0(+40(+24(+8(%di)))):string names=+40(+8(%di)):string[1] low=@0x10:string high=@0xffffffff00000000:string"
    r" version=@linux_banner:string at=@linux_banner+6:u8[7] cpus=@nr_cpu_ids:u32 c=$comm",
    # If nothing else is done there, the function finds all of these as they were.
    "do_filp_open": r"ax=%ax r10=%r10 r11=%r11 flags=%flags dfd=%di name=+0(+0(%si)):string orig=%orig_ax:s64",
}
WITHOUT_ID = re.compile(r"(?m)^ID: \d+$")
PLACE = re.compile(r"^(\w+): \([^)]*\)")


def payloads(text):
    """Returns {event: [(pid, arguments)]} of the probes."""
    found = collections.defaultdict(list)
    for _, (pid, _, _, what) in events_of(text):
        match = PLACE.match(what)
        found[match[1]].append((pid, what[match.end() :]))
    return found


@case(configs=(*ONE_VCPU, OLDEST))
def probes_read_memory(t):
    """Probes that read memory have what the guest's own have of the same calls: those are set behind the functions'
    entries, where the registers are still the same."""
    with t.attach() as traced:
        names = {f"m{i}": (function, fetches) for i, (function, fetches) in enumerate(MEMORY.items())}
        own = f"cd {OWN}; echo 0 >tracing_on; echo 4000 >buffer_size_kb; "
        for name, (function, fetches) in names.items():
            traced.echo("kprobe_events", f"p:{name} {function} {fetches}", append=True)
            own += f"for off in 5 9; do echo 'p:{name} {function}+'$off' {fetches}' >>kprobe_events && break; done; "
        traced.echo("events/kprobes/enable", "1")
        text = t.guest.run(
            own + f"echo 1 >events/kprobes/enable; echo >trace; echo 1 >tracing_on; {OPENS}; echo 0 >tracing_on;"
            " echo 0 >events/kprobes/enable; cat trace",
            timeout=300,
        )
        traced.echo("events/kprobes/enable", "0")
        for name in names:
            format_file = f"events/kprobes/{name}/format"
            own_format = t.guest.run(f"cat {OWN}/{format_file}")
            assert WITHOUT_ID.sub("", traced.text(format_file)) == WITHOUT_ID.sub("", own_format), own_format
        own_calls, our_calls = payloads(text), payloads(traced.text("trace", timeout=300))
        for name in names:
            mine, theirs = own_calls[name], our_calls[name]
            if names[name][0] == "do_filp_open":
                assert {call[1].rpartition(" ")[2] for call in mine} == {"orig=-1"}, mine[:3]
                mine = [(pid, what.replace("orig=-1", "orig=0")) for pid, what in mine]
                registers = {what.partition(" dfd=")[0] for _, what in mine}
            first = theirs.index(mine[0])
            assert len(mine) > 9 and theirs[first : first + len(mine)] == mine, (name, mine[:3], theirs[first : first + 3])
        # At the entry itself the guest's own is made of ftrace, as ours are said to be.
        entry = t.guest.run(
            f"cd {OWN}; echo >kprobe_events; echo 'p:entry do_filp_open orig=%orig_ax:s64' >kprobe_events; echo >trace;"
            f" echo 1 >tracing_on; echo 1 >events/kprobes/enable; {OPENS}; echo 0 >events/kprobes/enable; cat trace"
        )
        assert {what for _, what in payloads(entry)["entry"]} == {" orig=0"}, entry[-500:]
        t.guest.run(f"cd {OWN}; echo >kprobe_events; echo 1 >tracing_on; echo >trace; echo 1 >buffer_size_kb")
        t.note(f"{ {name: len(calls) for name, calls in own_calls.items()} }, {len(registers)} different registers")


FINDS = f"{OPENS}; cat /proc/version >/dev/null"
# Returns of what FINDS calls: numbers, pointers that are errors, memory behind what is returned, strings.
RETURNS = {
    "do_sys_openat2": "r:NAME do_sys_openat2 ret=$retval:s32 low=$retval:b4@4/32 c=$comm ax=%ax:x16",
    "getname": "r16:NAME getname name=+0(+0($retval)):string first=+0(+0($retval)):u8[4] as=$retval:b1@63/64",
    "vfs_open": "p:NAME vfs_open%return $retval:s64 at=$stack:b3@0/64",
}
# Where the guest's own have the arguments of the call, too.
KEPT = {
    "do_sys_openat2": " dfd=$arg1:s32 asked=+0($arg2):ustring flags=+0($arg3):x64",
    "vfs_open": " name=path->dentry->d_iname:string",
}
# What cat opens. ls asks for the state of files of the same names.
OF_CAT = re.compile(r"'do_sys_openat2\S+', '\w+', ' name=\"/(absent|proc/version)\"")
RETURNED = re.compile(r"^(\w+): \((\S+) <- (\w+)\)(.*)")


def returned(text):
    """Returns {event: [(caller, function, arguments)]} of each cat of FINDS. It has the shell's name for a while after it
    has become another program."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in text.splitlines():
        match = re.match(r"\s*\S+-(\d+) +\[\d+\] \S+ +\d+\.\d+: (.*)", line)
        what = match and RETURNED.match(match[2])
        if what:
            arguments = re.sub(r' c="\w+"', "", what[4])
            found[match[1]][what[1]].append((what[2], what[3], arguments))
    return [dict(of_task) for of_task in found.values() if OF_CAT.search(str(of_task))]


def in_graph(text):
    """Returns all such calls in a graph, which shows events as comments."""
    for caller, function, arguments in re.findall(r"/\* \w+: \((\S+) <- (\w+)\)(.*) \*/", text):
        yield caller, function, re.sub(r' c="\w+"', "", arguments)


@case(configs=(*ONE_VCPU[1:], OLDEST))
def probes_of_returns(t):
    """Return probes have the formats and texts of the guest's own, and what each call of the same programs returns, to
    the same callers, also beside tracers of the same functions; what they return to is shown by those. Detach finds
    calls that are open."""
    with t.attach() as traced:
        kept = KEPT if "kernel return probes support:" in t.guest.run(f"cat {OWN}/README") else {}
        guests = Names(t.guest)
        getname = guests["getname"]
        own, names = f"cd {OWN}; ", {f"r_{function}": RETURNS[function] + kept.get(function, "") for function in RETURNS}
        names = {name: guests.in_text(text, "getname", "d_iname") for name, text in names.items()}
        for name, command in names.items():
            traced.echo("kprobe_events", command.replace("NAME", name), append=True)
            own += f"echo '{command.replace('NAME', name)}' >>kprobe_events; "
        text = t.guest.run(
            f"{own} echo 4000 >buffer_size_kb; echo 1 >events/kprobes/enable; echo >trace; {FINDS}; echo 0 >events/kprobes/enable; cat trace",
            timeout=300,
        )
        ours, theirs = traced.text("kprobe_events"), t.guest.run(f"cat {OWN}/kprobe_events")
        assert ours == theirs, (ours, theirs)
        for name in names:
            format_file = f"events/kprobes/{name}/format"
            own_format = t.guest.run(f"cat {OWN}/{format_file}")
            assert WITHOUT_ID.sub("", traced.text(format_file)) == WITHOUT_ID.sub("", own_format), own_format
        t.guest.run(f"cd {OWN}; echo >kprobe_events; echo >trace; echo 1 >buffer_size_kb")
        own_returns = returned(text)
        assert len(own_returns) == 4 and all(set(found) == set(names) for found in own_returns), (own_returns, text[-3000:])
        traced.echo("set_ftrace_filter", *(getname if function == "getname" else function for function in RETURNS))
        for tracer in ("nop", "function_graph", "function"):
            traced.echo("current_tracer", tracer)
            traced.echo("events/kprobes/enable", "1")
            traced.echo("trace", "")
            t.guest.run(FINDS)
            traced.echo("events/kprobes/enable", "0")
            text = traced.text("trace", timeout=300)
            if tracer == "function_graph":
                ours = collections.Counter(in_graph(text))
                lost = collections.Counter(call for found in own_returns for name in found for call in found[name]) - ours
                assert not lost and re.search(r"do_sys_openat2\(\) \{", text), (lost, ours)
                depths = {len(blanks) // 2 for blanks in re.findall(rf"\|( +){getname}\(", text)}
                assert depths and depths <= {1, 2}, (depths, text[-3000:])
                continue
            ours = returned(text)
            assert [found for found in ours if found in own_returns] == own_returns, (tracer, own_returns, ours)
            if tracer == "function":
                callers = set(re.findall(r" do_sys_openat2 <-(\w+)", text))
                assert callers == {"__x64_sys_openat"}, callers
        profile = traced.text("kprobe_profile").split()
        assert set(profile[2::3]) == {"0"} and all(int(nr) > 5 for nr in profile[1::3]), profile
        traced.echo("current_tracer", "nop")
        traced.echo("kprobe_events", f"r:open {guests['pipe_read']} $retval")
        traced.echo("events/kprobes/open/enable", "1")
        t.guest.run(
            "mkfifo /tmp/p; cat /tmp/p >/tmp/got 2>&1 & echo $! >/tmp/reader; (sleep 9; echo hello) >/tmp/p 2>/dev/null & sleep 2;"
            " grep State /proc/$(cat /tmp/reader)/status"
        )
        traced.echo("events/kprobes/open/enable", "0")
        traced.echo("kprobe_events", "")
    assert t.guest.run("while [ -d /proc/$(cat /tmp/reader) ]; do sleep 1; done; cat /tmp/got; rm /tmp/p /tmp/got", timeout=300) == "hello\n"
    t.note(f"{ {name: sum(len(found[name]) for found in own_returns) for name in names} }")


# Probes of one event at several functions, and where the kernel has them, those of fprobe.
SEVERAL = (
    "p:several do_sys_openat2 name=+0(%si):string\n"
    "p:several getname name=+0(%di):string\n"
    "r:back getname $retval:b1@63/64\n"
    "p:back vfs_open%return $retval:b1@63/64\n"
)
FPROBES = (
    "f do_sys_openat2 name=+0($arg2):string\n"
    "f vfs_open%return ret=$retval:s32\n"
    "f:mine/value getname name=+0(+0($retval)):string\n"
)
PROBE_EVENT = re.compile(r"\d+\.\d+: (\w+: \(.*)")


@case(configs=ONE_VCPU)
def probes_of_several_functions(t):
    """Several probes of one event, and probes by fprobe where the guest's kernel has them, are shown, removed and recorded
    as the guest's own; where it has none they are refused."""
    has_fprobes = "trace_fprobe_create" in t.guest.run("grep -c trace_fprobe_create /proc/kallsyms && echo trace_fprobe_create || true")
    names = Names(t.guest)
    getname, lines = names["getname"], names.in_text(SEVERAL + (FPROBES if has_fprobes else ""), "getname")
    on = "for e in events/kprobes events/fprobes events/mine; do [ ! -d $e ] || echo 1 >$e/enable; done"
    with t.attach() as traced:
        own = t.guest.run(
            f"cd {OWN}; printf '{lines.replace('%', '%%')}' >dynamic_events; cat dynamic_events; echo ----; cat kprobe_events; echo ----;"
            f" echo 4000 >buffer_size_kb; {on}; echo >trace; {FINDS}; echo 0 >events/enable; cat trace; echo ----;"
            f" echo '-:several {getname}' >>kprobe_events; echo '-:back' >>dynamic_events; cat dynamic_events; echo >dynamic_events;"
            " echo 1 >buffer_size_kb",
            timeout=300,
        ).split("----\n")
        if not has_fprobes:
            t.hv.fails("echo", t.name, "dynamic_events", "f vfs_open", says=("Invalid argument",))
        for line in lines.splitlines():
            traced.echo("dynamic_events", line, append=True)
        assert traced.text("dynamic_events") == own[0] and traced.text("kprobe_events") == own[1], own[:2]
        for group in ["kprobes"] + (["fprobes", "mine"] if has_fprobes else []):
            traced.echo(f"events/{group}/enable", "1")
        t.guest.run(FINDS)
        traced.echo("events/enable", "0")
        mine, theirs = (collections.Counter(PROBE_EVENT.findall(text)) for text in (own[2], traced.text("trace", timeout=300)))
        wanted = {what: nr for what, nr in mine.items() if re.search('"/(absent|proc|proc/version)"', what)}
        assert len(wanted) > 5 and not [what for what in wanted if theirs[what] < wanted[what]], (wanted, theirs)
        traced.echo("kprobe_events", f"-:several {getname}", append=True)
        traced.echo("dynamic_events", "-:back", append=True)
        assert traced.text("dynamic_events") == own[3], own[3]
        traced.echo("dynamic_events", "")
        assert traced.text("dynamic_events") == ""
        recording = t.hv.start("record", "-k", "r:mine do_sys_openat2 $retval:s32", t.name)
        t.await_event(recording, "mine")
        t.guest.run("cat /absent 2>/dev/null; true")
        out, err = t.end_recording(recording)
        found = re.findall(r" mine: \(__x64_sys_openat\+\S+ <- do_sys_openat2\) arg1=-2\n", out.decode())
        assert found and traced.text("kprobe_events") == "", (out[-500:], err)
        t.note(f"{len(wanted)} different events; fprobes: {has_fprobes}")


# Functions that are called often, in interrupts, and by reading itself; most of what they read is not there.
ANYWHERE = {
    "try_to_wake_up": "ax=%ax flags=%flags state=+0(%di):x32 lost=+0(+0(%di)):string from=+0($stack0):u8[8]",
    "handle_mm_fault": "space=+0(+16(%di)):x64[4] at=+0(%si):u8 there=+0(%si):string",
    "search_exception_tables": "at=+0(%di):u8[16] low=@0x10:string high=@0xffffffff00000000:u64",
    "hrtimer_interrupt": "device=+0(%di):x64 name=+0(+0(%di)):string $stack9",
    "__x64_sys_exit_group": "ax=+80(%di):s32 all=+0(%di):x64[21] last=+0(+u152(%di)):string",
}

ANYWHERE_BY_NAME = {f"a{i}": function for i, function in enumerate(ANYWHERE)}


@case(configs=(STANDARD[1], STANDARD[2]))
def probes_read_anywhere(t):
    """Probes of functions of interrupts, wakeups and page faults read what is there and what is not, one in the other,
    beside a graph of all functions; each detach finds nobody in them."""
    for tracer in ("nop", "function_graph", "function"):
        with t.attach() as traced:
            for name, function in ANYWHERE_BY_NAME.items():
                traced.echo("kprobe_events", f"p:{name} {function} {ANYWHERE[function]}", append=True)
            traced.echo("current_tracer", tracer)
            traced.echo("events/kprobes/enable", "1")
            t.guest.run("for i in 1 2 3 4 5 6 7 8 9; do (ls -R /proc/self | wc -l; cat /absent) >/dev/null 2>&1 & done; wait", timeout=300)
            profile = traced.text("kprobe_profile").split()
            hits = dict(zip(profile[::3], map(int, profile[1::3])))
            # What handles page faults may be called by reading only, and that is not recorded.
            assert all(nr or ANYWHERE_BY_NAME[name] == "search_exception_tables" for name, nr in hits.items()), hits
        t.note(f"{tracer}: {hits}")


def switches(text):
    """Returns for each CPU the pids of the sched_switch events in the guest's own trace."""
    found = {}
    for cpu, prev, following in re.findall(r"\[(\d+)\].* sched_switch: .*prev_pid=(\d+) .*next_pid=(\d+)", text):
        found.setdefault(int(cpu), []).append((int(prev), int(following)))
    return found


def recorded_switches(lines):
    """Likewise of what plug_probe has printed. The bytes begin behind the common fields."""
    found = {}
    for line in lines:
        name, _, rest = line.partition(" ")
        if name != "sched_switch" or len(rest.split()) != 2:
            continue
        cpu, data = rest.split()
        prev, following = (struct.unpack_from("<i", bytes.fromhex(data), at)[0] for at in (16, 48))
        found.setdefault(int(cpu), []).append((prev, following))
    return found


def has_run(all_of_them, run):
    return any(all_of_them[i : i + len(run)] == run for i in range(len(all_of_them) - len(run) + 1))


class Probe:
    """plug_probe, recording events until finish(). LINES is what it has said."""

    def __init__(self, t, *names):
        program = os.path.join(os.path.dirname(os.path.dirname(t.hv.path)), "tracer", "plug_probe")
        self.process = subprocess.Popen([program, t.name, *names], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = self._until("recording")

    def _until(self, word):
        lines = [""]
        while lines[-1] != word:
            line = self.process.stdout.readline()
            assert line, f"plug_probe ended: {lines}"
            lines.append(line.strip())
        return lines

    def refused(self):
        return [line for line in self.lines if line.startswith("refused ")]

    def finish(self):
        self.process.stdin.close()
        self.lines += self.process.stdout.read().splitlines()
        assert self.process.wait() == 0
        return self.lines

    def kill(self):
        self.process.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


TOGGLE = (
    f"cd {OWN}; for i in 1 2 3; do echo 1 >events/sched/enable; echo 1 >events/kmem/kmalloc/enable;"
    " echo 1 >events/raw_syscalls/enable; ls /proc >/dev/null; echo 0 >events/raw_syscalls/sys_enter/enable;"
    " echo 0 >events/sched/enable; echo 0 >events/kmem/kmalloc/enable; echo 0 >events/raw_syscalls/enable; done;"
    " echo >trace"
)
SWITCHES = (
    f"cd {OWN}; echo >trace; echo 1 >events/sched/sched_switch/enable; for i in 1 2 3 4 5; do cat /proc/stat"
    " >/dev/null; sleep 0.1; done; echo 0 >events/sched/sched_switch/enable; cat trace; echo >trace"
)


@case(configs=ONE_VCPU[-1:])
def events_are_recorded_beside_the_guest(t):
    """A session records all events of several systems, while the guest switches the same ones on and off, and both
    see the same switches of tasks. What the guest uses already is refused. After kill -9, recover takes everything
    out, also while the guest uses it; each time the guest's own events work as before and its text is as before."""
    names = ("sched:*", "kmem:*", "irq:*", "timer:*", "raw_syscalls:*")
    probe = Probe(t, *names)
    assert not probe.refused(), probe.refused()
    t.guest.run(TOGGLE)
    own = t.guest.run(SWITCHES)
    lines = probe.finish()
    # When the guest leaves a tracepoint to us, its kernel makes the static call lead to our only probe.
    assert any("none of ours left" in line for line in lines), lines[-1]
    assert all(": static call at " in line for line in lines if " differences of the guest's own: " in line), lines[-1]
    counts = dict(line.split() for line in lines if re.fullmatch(r"[a-z_]+ \d+", line))
    for name in ("sched_switch", "sched_wakeup", "kmalloc", "irq_handler_entry", "hrtimer_start"):
        assert int(counts[name]) > 0, counts
    # A call may be under way at the beginning or the end.
    assert abs(int(counts["sys_enter"]) - int(counts["sys_exit"])) < 20 < int(counts["sys_enter"]), counts
    recorded = recorded_switches(lines)
    for cpu, run in switches(own).items():
        assert len(run) > 5 and has_run(recorded[cpu], run), f"CPU {cpu}: {run} is not in {recorded[cpu]}"

    def enable(event, value):
        t.guest.run(f"echo {value} >{OWN}/events/{event}/enable")

    enable("sched/sched_switch", 1)  # before us
    probe = Probe(t, *names)
    # The guest records the names of tasks by probes on sched_switch, sched_wakeup and sched_wakeup_new.
    assert len(probe.refused()) == 3, probe.refused()
    assert all("sched:sched_" in line and "the guest itself uses its tracepoint" in line for line in probe.refused())
    enable("sched/sched_switch", 0)
    enable("irq/irq_handler_entry", 1)  # beside us, while we are killed and taken out
    enable("sched/sched_waking", 1)
    enable("sched/sched_waking", 0)  # leaves us alone in an array of its own
    probe.kill()
    t.guest.run(TOGGLE)
    said = t.recover()
    nr = re.search(r"(\d+) events of the guest switched off", said)
    assert nr and int(nr.group(1)) > 40, said
    assert "none of ours left" in said, said
    assert "irq_handler_entry" in t.guest.run(f"cd {OWN}; cat /proc/stat; sleep 0.2; cat trace")
    enable("irq/irq_handler_entry", 0)
    t.guest.run(TOGGLE)
    enable("raw_syscalls/sys_exit", 1)
    enable("raw_syscalls/sys_exit", 0)
    assert "sys_exit: NR" in t.guest.run(f"head -n 50 {OWN}/trace")
    assert switches(t.guest.run(SWITCHES))
    t.note(f"{nr.group(0)} by recover; recorded {sum(map(int, counts.values()))} events")


@case(configs=(OLDEST, STANDARD[2]))
def marks_of_programs(t):
    """hvtrace-agent's marks are events of their tasks, each once and whole: short, long, of lines; for two who record
    them at a time. Another unknown option of prctl(2) is none."""
    long = "".join(f"{n:04}." for n in range(100))
    say = f"hvtrace-agent mark checkout begin; hvtrace-agent mark {long}; printf 'one\\ntwo\\n' | hvtrace-agent mark -"
    wanted = ["checkout begin", long, "one", "two"]
    t.guest.run(say)
    with t.attach() as traced:
        traced.echo("kprobe_events", "p:mine/mark security_task_prctl text=$mark who=$comm")
        traced.echo("events/mine/enable", "1")
        t.guest.run(f"{say}; busybox setpriv --help >/dev/null 2>&1; true")
        lines = [line for line in traced.text("trace").splitlines() if " mark: " in line]
        assert [re.search(r'text="(.*)" who="hvtrace-agent"', line).group(1) for line in lines] == wanted, lines
        assert all(line.lstrip().startswith("hvtrace-agent-") for line in lines), lines
        traced.echo("events/mine/enable", "0")
        t.hv("echo", "-a", t.name, "kprobe_events", "-:mine/mark")
        t.hv.fails("echo", t.name, "kprobe_events", "p vfs_read $mark", says=("Invalid argument",))
        both = [t.hv.start("record", "--marks", t.name) for _ in range(2)]
        for recording in both:
            t.await_event(recording, "mark")
        t.guest.run(say)
        for recording in both:
            out, err = t.end_recording(recording)
            assert re.findall(r' mark: .* text="(.*)"', out.decode()) == wanted, (out, err)
        assert traced.text("kprobe_events") == ""


@case(configs=ONE_VCPU)
def host_events_need_a_known_clock(t):
    """Under TCG nothing relates the guest's clock to the host's: there are no events of the host, and set_event says
    why."""
    if t.lab.kvm(t.guest):
        raise Skip("the guest's clock is known")
    with t.attach() as traced:
        assert "host:" not in traced.text("available_events")
        t.hv.fails("echo", t.name, "set_event", "host:kvm_exit", says=("host:kvm_exit", "the guest's clock"))
        assert "how the guest's clock follows the host's" in traced.text("error_log"), traced.text("error_log")
        assert not traced.text("set_event")
