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
from lib.suite import NEWEST, OLDEST, ONE_VCPU, STANDARD, Skip, case
from lib.wait import HANG_SECONDS

OWN = "/sys/kernel/tracing"
# Modules with many events: 27 including dependencies.
MODULES = ("dummy", "xfs", "kvm", "sunrpc", "nfsv4", "cifs", "btrfs", "libata", "l2tp_core", "cachefiles")
WITH_MODULES = tuple(dataclasses.replace(config, modules=MODULES) for config in ONE_VCPU)
FILES = "find events -name format -o -name id | LC_ALL=C sort"
SINGLE = "available_events printk_formats events/header_page events/header_event"


def read_own(t, command):
    return t.guest.run_bytes(f"cd {OWN} && {command}")


def read_ours(t, command):
    return t.hv.bytes("exec", t.name, "sh", "-c", f"cd {OWN} && {command}", timeout=600)


def first_difference(own, ours):
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


@case(configs=WITH_MODULES[1:], further=WITH_MODULES[:1], sanitized=True)
def event_formats_equal_the_guests(t):
    """format and id of every event of the core kernel and of modules equal the guest's byte for byte, also after
    modules are loaded and removed. The guest's own probes are not included."""
    t.guest.run("for m in $(cat /modules/order); do insmod /modules/$m.ko; done")
    try:
        with t.attach() as traced:
            names = same(t, FILES).split()
            same(t, f"cat {SINGLE}")
            same(t, f"{FILES} | xargs cat")
            t.note(f"{len(names)} files are identical")
            t.guest.run(f"echo 'p:mine vfs_read' >{OWN}/kprobe_events")
            own = read_own(t, "cat available_events").replace(b"kprobes:mine\n", b"")
            assert own == traced.text("available_events").encode(), "the files differ while the guest has a probe of its own"
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
# Most Debian kernels enable this event through a separate function, SWITCHED_BY.
REFUSED, SWITCHED_BY = "mmap_lock:mmap_lock_released", "trace_mmap_lock_reg"
WORK = "ls -l /proc >/dev/null; sleep 0.1; for i in 1 2 3; do sleep 1 & kill -9 $!; done; wait; cat /proc/stat >/dev/null"


def events_of(text):
    """Returns [(time, (pid, CPU, flags, text))]. Task names are left out: the guest shows the last name for all events
    of a task, hvtrace the name at the event. The rescheduling flag is left out: an interrupt between the two probes
    may set it."""
    assert "LOST" not in text
    found = [match for match in map(EVENT.match, text.splitlines()) if match]
    return [(float(match[5]), (match[2], match[3], match[4][0] + match[4][2:], match[6])) for match in found]


def between(events, first, last):
    return collections.Counter(key for when, key in events if first < when < last)


def agree(own, ours):
    """Checks that hvtrace recorded all events that the guest recorded, and no others in that time. An event whose probe
    was interrupted may come before the interrupt's event in one and after it in the other."""
    counted = collections.Counter(key for _, key in own)
    missing = counted - collections.Counter(key for _, key in ours)
    assert not missing, f"{sum(missing.values())} events only in the guest's own trace: {sorted(missing)[:5]}"
    extra = between(ours, own[0][0] + 0.001, own[-1][0] - 0.001) - counted
    assert not extra, f"{sum(extra.values())} events only in hvtrace's trace: {sorted(extra)[:5]}"


@case(configs=ONE_VCPU)
def events_agree_if_the_guest_traced_first(t):
    """Like events_agree_with_the_guests_own, but when hvtrace joins, the guest already records all of these events, and
    one system of them also in an instance."""
    t.guest.run(
        f"cd {OWN}; echo 0 >tracing_on; echo 20000 >buffer_size_kb; mkdir -p instances/beside; echo 1 >instances/beside/events/sched/enable; "
        + "".join(f"echo 1 >events/{system}/enable; " for system in SYSTEMS)
    )
    try:
        with t.attach() as traced:
            traced.echo("tracing_on", "0")
            for system in SYSTEMS:
                traced.echo(f"events/{system}/enable", "1")
            traced.echo("tracing_on", "1")
            own = t.guest.run(f"cd {OWN}; echo >trace; echo 1 >tracing_on; {WORK}; echo 0 >tracing_on; cat trace", timeout=300)
            traced.echo("tracing_on", "0")
            agree(*alike(events_of(own), events_of(traced.text("trace", timeout=300))))
            t.note(f"{len(events_of(own))} events agree")
    finally:
        t.guest.run(f"cd {OWN}; for e in . instances/beside; do echo 0 >$e/events/enable; echo >$e/trace; done; echo 1 >tracing_on; rmdir instances/beside")


@case(configs=(*ONE_VCPU, OLDEST), sanitized=True)
def events_agree_with_the_guests_own(t):
    """The guest and hvtrace record the same events together: same tasks, CPUs, flags and texts. An instance has
    separate events. Events that cannot be recorded are refused with the reason. record -e writes a file that
    trace-cmd reads."""
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
        agree(*alike(events_of(own), events_of(ours)))
        assert any(key[3].startswith("page_fault_") for _, key in events_of(own))
        switches = [event for event in events_of(ours) if event[1][3].startswith("sched_switch: ")]
        its_own = events_of(traced.text("instances/a/trace"))
        assert [event for event in its_own if switches[0] <= event <= switches[-1]] == switches, "events of the instance"
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
    """Removes from OURS the flags that the guest's trace lacks. A kernel without the column migrate-disable does not
    show disabled bottom halves, either."""
    width = len(own[0][1][2])
    if width == len(ours[0][1][2]):
        return own, ours
    told = str.maketrans("bD", ".d")
    return own, [(when, (pid, cpu, flags[:1].translate(told) + flags[1:width], text)) for when, (pid, cpu, flags, text) in ours]


# The data that an argument of a system call points to: a string, or the readable bytes.
POINTED = re.compile(r' "[^"]*"(\.\.\.)?| \([0-9a-f:]*(, \.\.\.)?\)')
FAULTS = (' "(fault)"', " (, ...)")


def without_memory(key):
    return (*key[:3], POINTED.sub("", key[3]))


def faults_reported(own, ours):
    """Where hvtrace marked data in OURS as unreadable, puts the guest's data in its place: the guest's own events wait
    for the page. Returns OURS and the number of replacements."""
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
    """The guest and hvtrace record the events of all system calls together: the same events with the same texts, for
    calls that fail, are restarted, never return, or are made by 32-bit programs. Raw events appear only if
    requested. record -e writes them to a file that trace-cmd reads."""
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
        agree(*alike(events_of(own), faults_reported(events_of(own), events_of(ours))[0]))
        texts = [key[3] for _, key in events_of(own)]
        for what in (r"sys_openat\(.*\)", r"sys_openat -> 0xfffffffffffffffe", r".* -> 0xfffffffffffffdfc", r"sys_restart_syscall\(\)", r"sys_exit_group\(.*\)"):
            assert any(re.fullmatch(what, text) for text in texts), f"no {what}"
        its_own = [key[3] for _, key in events_of(traced.text("instances/a/trace"))]
        assert any(text.startswith("sys_enter: NR 20 ") for text in its_own), "no call of a 32-bit program"
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


# Calls with unprintable or too long strings, or with two strings.
STRINGS = (
    "cat /absent; cat $(printf '/a\\001b'); cat /absent/0123456789012345678901234567890123456789012345678901234567890123456789;"
    " mv /absent /missing; mkdir /tmp/d; rmdir /tmp/d; touch /tmp/f; rm /tmp/f; hostname $(hostname);"
    " printf 'three\\n\\t' >/dev/null; head -c 300 /dev/zero >/dev/null; uname; true"
)

# These calls must occur, with the data that they point to.
SHOWN = (
    r'sys_openat\(dfd: 4294967196, filename: \d+ "/absent", flags: O_RDONLY(\|O_LARGEFILE)?\)',
    r'sys_openat\(dfd: 4294967196, filename: \d+ "/a\.b", flags: .*\)',
    r'sys_openat\(dfd: 4294967196, filename: \d+ "/absent/[0-9]{55}\.\.\.", flags: .*\)',
    r'sys_rename\(oldname: 0x[0-9a-f]+ "/absent", newname: 0x[0-9a-f]+ "/missing"\)',
    r'sys_write\(fd: 1, buf: 0x[0-9a-f]+ \(74:68:72:65:65:0a:09\) "three\.\.", count: 7\)',
    r"sys_execve\(filename: 0x[0-9a-f]+ \".+\", argv: 0x[0-9a-f]+, envp: 0x[0-9a-f]+\)",
)


def both_record(t, traced, system, calls):
    """The guest and hvtrace, which has the events of SYSTEM enabled, record CALLS. Returns the events of both."""
    traced.echo("tracing_on", "1")
    own = t.guest.run_own(
        f"cd {OWN}; echo 0 >tracing_on; echo 20000 >buffer_size_kb; echo 1 >events/{system}/enable; echo >trace;"
        f" echo 1 >tracing_on; {calls}; echo 0 >tracing_on; echo 0 >events/enable; cat trace",
        timeout=300,
    )
    traced.echo("tracing_on", "0")
    return events_of(own), events_of(traced.text("trace", timeout=300))


SLEEPERS = "(sleep 3000 & sh -c 'sleep 3000; true' &) >/dev/null 2>&1 </dev/null; sleep 0.5"


@case(configs=(dataclasses.replace(NEWEST, vcpus=1, in_turn=False),), sanitized=True)
def system_calls_where_probes_may_sleep(t):
    """In kernels whose system call probes may sleep, the guest and hvtrace record the same events: raw_syscalls, then all
    of syscalls with the strings and bytes that arguments point to. A probe of the tracepoint records as well. While
    tasks sleep in system calls, detach and, after kill -9, recover finish."""
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
            ours, nr_faults = faults_reported(own, ours)
            agree(*alike(own, ours))
            texts = [key[3] for _, key in ours]
            for what in SHOWN:
                assert any(re.fullmatch(what, text) for text in texts), f"no {what}"
        t.hv("attach", t.name)
        t.hv("echo", t.name, "events/raw_syscalls/enable", "1")
        t.guest.run("ls /proc >/dev/null")
        for pid in [victims(t)[kind] for kind in ("broker", "service")]:
            kill(pid)
    finally:
        settle(t)
        t.guest.run(f"killall sleep; echo 1 >{OWN}/tracing_on; echo >{OWN}/trace; echo 1 >{OWN}/buffer_size_kb")
    t.note(f"{len(own)} events of {len(ours)} in both, hvtrace could not read {nr_faults} of them")


def switches(text):
    """Returns for each CPU the pids of the sched_switch events in the guest's own trace."""
    found = {}
    for cpu, prev, following in re.findall(r"\[(\d+)\].* sched_switch: .*prev_pid=(\d+) .*next_pid=(\d+)", text):
        found.setdefault(int(cpu), []).append((int(prev), int(following)))
    return found


def recorded_switches(lines):
    """Like switches(), from the output of plug_probe, whose bytes begin after the common fields."""
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
    """plug_probe, which records events until finish(). LINES is its output."""

    def __init__(self, t, *names):
        program = os.path.join(t.hv.helpers, "tracer", "plug_probe")
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
    """A session records all events of several systems while the guest enables and disables the same events. Both see
    the same task switches. Events that the guest already uses are joined. After kill -9, recover removes everything,
    also while the guest uses the events. After each step the guest's own events work and its text is as before."""
    names = ("sched:*", "kmem:*", "irq:*", "timer:*", "raw_syscalls:*")
    probe = Probe(t, *names)
    assert not probe.refused(), probe.refused()
    t.guest.run(TOGGLE)
    own = t.guest.run(SWITCHES)
    lines = probe.finish()
    assert any("no changes by hvtrace left" in line for line in lines), lines[-1]
    assert all(": static call at " in line for line in lines if " differences of the guest's own: " in line), lines[-1]
    counts = dict(line.split() for line in lines if re.fullmatch(r"[a-z_]+ \d+", line))
    for name in ("sched_switch", "sched_wakeup", "kmalloc", "irq_handler_entry", "hrtimer_start"):
        assert int(counts[name]) > 0, counts
    # A call may be in progress at the start or the end.
    assert abs(int(counts["sys_enter"]) - int(counts["sys_exit"])) < 20 < int(counts["sys_enter"]), counts
    recorded = recorded_switches(lines)
    for cpu, run in switches(own).items():
        assert len(run) > 5 and has_run(recorded[cpu], run), f"CPU {cpu}: {run} is not in {recorded[cpu]}"

    def enable(event, value):
        t.guest.run(f"echo {value} >{OWN}/events/{event}/enable")

    enable("sched/sched_switch", 1)  # before hvtrace
    probe = Probe(t, *names)
    assert not probe.refused(), probe.refused()
    enable("sched/sched_switch", 0)
    enable("irq/irq_handler_entry", 1)  # together with hvtrace, while hvtrace is killed and removed
    enable("sched/sched_waking", 1)
    enable("sched/sched_waking", 0)  # leaves only hvtrace's callback in a new array
    probe.kill()
    t.guest.run(TOGGLE)
    said = t.recover()
    nr = re.search(r"(\d+) events of the guest switched off", said)
    assert nr and int(nr.group(1)) > 40, said
    assert "no changes by hvtrace left" in said, said
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
    """hvtrace-agent's marks are events of their tasks, each once and complete: short, long, of several lines, and for
    two simultaneous recordings. Another unknown option of prctl(2) is not a mark."""
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
    """Under TCG nothing relates the guest's clock to the host's: there are no host events, and set_event gives the
    reason."""
    if t.lab.kvm(t.guest):
        raise Skip("the guest's clock is known")
    with t.attach() as traced:
        assert "host:" not in traced.text("available_events")
        t.hv.fails("echo", t.name, "set_event", "host:kvm_exit", says=("host:kvm_exit", "the guest's clock"))
        assert "how the guest's clock follows the host's" in traced.text("error_log"), traced.text("error_log")
        assert not traced.text("set_event")
