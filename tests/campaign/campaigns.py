# SPDX-License-Identifier: GPL-2.0-or-later
"""The campaigns. A campaign is a function f(t, rng) with a docstring and the decorator. It makes ONE step, which leaves
the guest unchanged. t is the argument of cases in lib/suite.py (t.guest, t.hv, t.attach()) with the step's number in
t.number. A step may depend only on rng and t.number, so that it can be repeated. The return value, if any, is
counted: a result, or a list of results."""

import dataclasses
import time

import cases_beside
import cases_stalls
import hostile
from cases_beside import kill, settle, victims
from lib.channel import GuestDead
from lib.wait import until

ALL = {}
WRONG = "wrong: "  # prefix of a result that should not occur; too many of these fail
NEVER = "never: "  # prefix of a result that must not occur; a single one fails
MACHINES = {}  # special properties of a campaign's guest
NEED_KVM = set()  # names of campaigns
GLOBS = ("vfs_*", "do_*", "ksys_*", "*_open", "tcp_*")


def campaign(step):
    ALL[step.__name__] = step
    return step


@campaign
def cycles(t, rng):
    """Attach, in some steps trace something, detach."""
    with t.attach() as traced:
        if rng.random() < 0.5:
            traced.echo("set_ftrace_filter", rng.choice(GLOBS))
            traced.echo("current_tracer", "function")
            t.guest.run("cat /proc/uptime")
            if rng.random() < 0.5:
                traced.text("trace")


LOAD = "while [ ! -e /tmp/end ]; do cat /proc/self/stat | md5sum; echo x >/tmp/x; done >/dev/null 2>&1 & echo $! >/tmp/load"
END_LOAD = "touch /tmp/end; while [ -d /proc/$(cat /tmp/load) ]; do sleep 0.1; done; rm /tmp/end"
SECTION_TRACERS = ("preemptoff", "irqsoff", "preemptirqsoff")


def switch_section_tracer(t, traced, rng, tracer):
    """Switches TRACER on and sometimes changes an option. Switches it off, or leaves that to the next one or detach."""
    traced.echo("current_tracer", tracer)
    time.sleep(rng.uniform(0, 0.2))
    if rng.random() < 0.3:
        traced.echo(f"options/{rng.choice(('function-trace', 'display-graph'))}", rng.choice("01"))
    t.guest.run("cat /proc/uptime; sleep 0.02")
    assert int(traced.text("tracing_max_latency")) > 0 and "=> ended at:" in traced.text("trace")
    if rng.random() < 0.5:
        traced.echo("current_tracer", rng.choice(("nop", "function")))


@campaign
def sections(t, rng):
    """A section tracer is switched on and off under load several times, with all functions, some, or no functions, as
    lines or as a graph. A section is kept."""
    t.guest.run(LOAD)
    done = []
    try:
        with t.attach() as traced:
            tracers = [name for name in traced.text("available_tracers").split() if name in SECTION_TRACERS]
            if rng.random() < 0.3:
                traced.echo("set_ftrace_filter", rng.choice(GLOBS))
            traced.echo("options/function-trace", rng.choice("001"))
            traced.echo("options/display-graph", rng.choice("01"))
            for _ in range(rng.choice((1, 3, 5, 7))):
                tracer = rng.choice(tracers)
                switch_section_tracer(t, traced, rng, tracer)
                done.append(f"{tracer} on and off")
    finally:
        t.guest.run(END_LOAD)
    return done


@campaign
def kills(t, rng):
    """kill -9 of the command, the service, its broker, its keeper or guardian, or several, at a random moment of an
    attach, a switch of tracers or a detach. The broker or recover restores every byte and the guest answers."""
    what = rng.choice(("attach", "function", "nop", "detach"))
    whom = rng.choice(cases_beside.WHOM)
    if what != "attach":
        t.hv("attach", t.name)
    if what in ("nop", "detach"):
        if rng.random() < 0.5:
            t.hv("echo", t.name, "set_ftrace_filter", rng.choice(GLOBS))
        t.hv("echo", t.name, "current_tracer", "function")
    words = {"attach": ("attach", t.name), "detach": ("detach", t.name)}
    running = t.hv.start(*words.get(what, ("echo", t.name, "current_tracer", what)))
    time.sleep(rng.uniform(0, {"attach": 1.5, "detach": 0.8}.get(what, 0.8)))
    there = victims(t)
    if what == "attach" and not there:
        kill(running.pid)  # the service has not appeared yet
    for one in whom:
        if one in there:
            kill(there[one])
    running.communicate(timeout=120)
    settle(t)
    if t.guest.run("echo alive").strip() != "alive":
        raise GuestDead("no answer after the kill")


MACHINES["tracepoints"] = {"vcpus": 1}


@campaign
def tracepoints(t, rng):
    """hvtrace and two users in the guest join and leave one tracepoint. Even steps: nine of the 90 orders in one
    session, all orders in ten such steps. Odd steps: kill -9 in one state of one order, all 630 states in as many
    steps."""
    half = t.number // 2
    if t.number % 2 == 0:
        first = half * cases_beside.BLOCK % len(cases_beside.ORDERS)
        nr = cases_beside.rounds(t, cases_beside.ORDERS[first : first + cases_beside.BLOCK], half)
        return f"{nr} rounds"
    # 90 and 7 have no common divisor, so every order meets every state.
    state = half % cases_beside.STATES
    order = cases_beside.ORDERS[half * 7 % len(cases_beside.ORDERS)]
    cases_beside.killed_round(t, order, state, rng.choice(cases_beside.WHOM), rng.choice(cases_beside.EVENTS))
    return f"a kill in state {state}"


CHURNED = ("sched/sched_switch", "sched/sched_waking", "kmem/kmalloc", "kmem/kfree", "exceptions/page_fault_user", "raw_syscalls/sys_enter",
           "raw_syscalls/sys_exit", "sched/sched_process_exec", "timer/hrtimer_start", "syscalls/sys_enter_openat")  # fmt: skip
CHURN = f"""cd {cases_beside.OWN}; mkdir -p instances/a instances/b; set -- {" ".join(CHURNED)}
while [ ! -e /tmp/end ]; do
    eval event=\\${{$((RANDOM % $# + 1))}}; case $((RANDOM % 3)) in 0) where=.;; 1) where=instances/a;; 2) where=instances/b;; esac
    echo $((RANDOM % 2)) >$where/events/$event/enable; n=$((n + 1)); echo $n >/tmp/churned
done"""
END_CHURN = (
    f"touch /tmp/end; while [ -d /proc/$(cat /tmp/churn.pid) ]; do sleep 0.1; done; {END_LOAD}; cd {cases_beside.OWN};"
    " for i in . instances/a instances/b; do echo 0 >$i/events/enable; echo >$i/trace; done; rmdir instances/a instances/b"
)


@campaign
def churn(t, rng):
    """The guest enables and disables its own events in a loop while hvtrace records and switches some of the same
    events. kill -9 of some of hvtrace's processes; recover while the guest continues."""
    t.guest.run(LOAD)
    t.guest.run(f"cat >/tmp/churn <<'END'\n{CHURN}\nEND\nsh /tmp/churn >/dev/null 2>&1 & echo $! >/tmp/churn.pid")
    try:
        t.hv("attach", t.name)
        events = [event.replace("/", ":") for event in rng.sample(CHURNED, rng.choice((1, 4, len(CHURNED))))]
        t.hv.run("echo", t.name, "set_event", *events)
        running = t.hv.start("echo", t.name, "set_event", *[event.replace("/", ":") for event in rng.sample(CHURNED, 3)])
        time.sleep(rng.uniform(0, 0.6))
        there = victims(t)
        for one in rng.choice(cases_beside.WHOM):
            if one in there:
                kill(there[one])
        running.communicate(timeout=120)
        settle(t)
        assert until(lambda: not t.hv.processes(t.name)), t.hv.processes(t.name)
    finally:
        settle(t)
        nr = int(t.guest.run(f"{END_CHURN}; cat /tmp/churned"))
    assert nr > 5, f"the guest switched events {nr} times"


MACHINES["churn"] = {"in_turn": True}


# -- a hostile guest ---------------------------------------------------------------------------------------------------

LIES = ("symbols", "types", "unwind_tables", "event_calls", "event_texts", "module", "slots")
READ_FILES = ("available_filter_functions", "available_events", "set_event", "printk_formats", "trace", "stat", "events/sched/sched_switch/format",
              "events/ftrace/print/format", "saved_cmdlines", "enabled_functions", "error_log", "available_tracers", "README")  # fmt: skip
SECONDS = 2.0  # records are read while they are overwritten


def bear(t, *words):
    """Runs a command, which must end by itself, with or without an error. Returns whether it succeeded."""
    status, _, err = t.hv.run(*words)
    assert status in (0, 1), f"hvtrace {' '.join(words)}: exit {status}: {err[-500:]}"
    return status == 0


class Session:
    """A session. At its end, its log shows whether its service died."""

    def __init__(self, t):
        self.t = t
        self.is_there = bear(t, "attach", t.name)
        self.log = open(f"{t.hv.run_dirs(t.name)[0]}/log", encoding="utf-8", errors="replace") if self.is_there else None  # noqa: SIM115

    def end(self):
        if not self.is_there:
            return "was refused"
        ended = not self.t.hv.processes(self.t.name)
        if not ended:
            self.t.hv.end("detach", self.t.name, self.t.disturb, self.t.refusals)
        said = self.log.read()
        self.log.close()
        assert "the service has died" not in said, said[-2000:]
        return "ended by itself" if ended else "was detached"


def read_lies(t, rng, what):
    """Attaches to a guest whose tables change, and reads data derived from them."""
    t.guest.run("insmod /modules/dummy.ko")
    guest = hostile.Guest(t.guest)
    try:
        with hostile.Liar(hostile.Overwriting(getattr(guest, what)()), rng):
            can_be_checked = bear(t, "check", t.name)
            session = Session(t)
            for file in rng.sample(READ_FILES, 5) if session.is_there else ():
                bear(t, "cat", t.name, file)
        return f"{what}: {'checked' if can_be_checked else 'refused by check'}, the session {session.end()}"
    finally:
        guest.close()
        t.guest.run("rmmod dummy")


def read_false_records(t, rng, tracer):
    """Reads rings that are overwritten while trampolines write into them."""
    session = Session(t)
    assert session.is_there
    t.hv("echo", t.name, "set_ftrace_filter", "vfs_*", "ksys_*", "*_open")
    if tracer == "events":
        for event in ("sched", "raw_syscalls", "kmem"):
            t.hv("echo", t.name, f"events/{event}/enable", "1")
    else:
        t.hv("echo", t.name, "options/func_stack_trace" if tracer == "function" else "options/funcgraph-retval", "1")
        t.hv("echo", t.name, "current_tracer", tracer)
    t.guest.run(LOAD)
    try:
        with hostile.Liar(hostile.Ringing(hostile.Region(t.guest).rings()), rng):
            for file in ("trace_pipe", rng.choice(("trace_pipe", "per_cpu/cpu0/trace_pipe_raw"))):
                reading = t.hv.start("cat", t.name, file)
                time.sleep(SECONDS / 2)
                reading.kill()
                reading.communicate()
            for words in (("cat", t.name, "trace"), ("stat", t.name), ("echo", t.name, "tracing_on", "0"), ("cat", t.name, "trace")):
                assert bear(t, *words), words
    finally:
        t.guest.run(END_LOAD)
    return f"records of {tracer}: the session {session.end()}"


def recover_by_a_false_journal(t, rng):
    """The journal is overwritten, and the service dies: the broker restores the changes that it knows."""
    session = Session(t)
    assert session.is_there
    t.hv("echo", t.name, "set_ftrace_filter", rng.choice(GLOBS))
    t.hv("echo", t.name, "current_tracer", rng.choice(("function", "function_graph")))
    with hostile.Liar(hostile.Overwriting(hostile.Region(t.guest).journal()), rng):
        time.sleep(rng.uniform(0, 0.3))
        kill(victims(t)["service"])
        assert until(lambda: not t.hv.processes(t.name)), t.hv.processes(t.name)
    session.log.close()
    return "the journal: restored by the broker"


@campaign
def hostile_guest(t, rng):
    """A guest that constantly overwrites its symbols, types, unwind tables, events, modules, page-table entries, records
    or the journal. Every command ends, no process of hvtrace dies, and the guest is left unchanged."""
    what = rng.choice((*LIES, "function", "function_graph", "events", "journal"))
    if what == "journal":
        return recover_by_a_false_journal(t, rng)
    return read_lies(t, rng, what) if what in LIES else read_false_records(t, rng, what)


# -- hvtrace latency: a campaign for each planted stall ----------------------------------------------------------------

COUNTED = {"vcpus": 1, "counted": True, "cmdline": "audit=0"}
TWO = {"vcpus": 2}


@dataclasses.dataclass(frozen=True)
class Planted:
    """A stall, or none, and the expected first cause."""

    what: str
    machine: dict
    measure: object  # f(t, traced): returns the verdict, and the duration in milliseconds
    cause: str = ""
    fault: str = ""
    length: str = "longest_ns"  # total_ns if `measure` returns the sum of several stalls
    needs_kvm: bool = False  # only host events show it


def of_module(stall):
    def measure(t, traced):
        cases_stalls.load_plants(t)
        return cases_stalls.measure_stall(t, traced, stall)

    return measure


def pressed(t, traced):
    with cases_stalls.pressed(t, 60) as pid:
        return cases_stalls.measure_pressure(t, traced, pid)


def busy(measure):
    def measure_busy(t, traced):
        with cases_stalls.busy_guest(t):
            return measure(t, traced)

    return measure_busy


def quiet(t, traced):
    return cases_stalls.measure(t, traced, lambda: t.guest.run("cat /proc/uptime"), "--for=3s"), 0


def tenant(t, traced):
    return cases_stalls.measure_crowded(t, traced, cases_stalls.NEIGHBOUR, "400ms")


STARVED = cases_stalls.Stall("workload starve 300 >/dev/null; echo ns 300000000", "run-queue", "tenant-program")
PRESSED = {**COUNTED, "disk_mib": 128, "cmdline": "audit=0 psi=1"}
DISK = {**TWO, "disk_mib": 64}
PLANTED = [Planted(what, COUNTED, of_module(stall), stall.cause, stall.fault) for what, stall in {**cases_stalls.STALLS, "starved task": STARVED}.items()] + [
    Planted("memory pressure", PRESSED, pressed, "reclaim", "tenant-program"),
    Planted("stopped VMM", TWO, busy(cases_stalls.measure_stopped), "vcpu-not-run", "host"),
    Planted("crowded CPU", TWO, busy(cases_stalls.measure_crowded), "vcpu-not-run", "host-scheduler", "total_ns"),
    Planted("slow disk", DISK, cases_stalls.measure_slow_disk, "block-device", "host-io", "total_ns"),
    Planted("quiet", COUNTED, quiet),
    Planted("exit storm", TWO, cases_stalls.measure_exit_storm, "exits", "tenant-program", "passed_ns", True),
    Planted("another tenant", TWO, busy(tenant), "vcpu-not-run", "other-tenant", "total_ns", True),
]


def is_tenants(fault):
    return fault.startswith("tenant")


def judge(planted, verdict, ms):
    """Returns the result for the tally."""
    if not planted.cause:
        return f"{WRONG}{verdict[0]['cause']} was named" if verdict else "nothing was named"
    if not verdict:
        return f"{WRONG}nothing was named"
    one = verdict[0]
    if one["fault"] != "unknown" and is_tenants(one["fault"]) != is_tenants(planted.fault):
        return f"{NEVER}{one['cause']} was named, and {one['fault']} is blamed"
    if (one["cause"], one["fault"]) not in ((planted.cause, planted.fault), (planted.cause, "unknown")):
        return f"{WRONG}{one['cause']} was named, and {one['fault']} is blamed"
    if abs(one[planted.length] / 1e6 - ms) > ms / 10:
        return f"{WRONG}right cause, wrong length"
    return "right, fault unknown" if one["fault"] == "unknown" else "right"


def latency_of(planted):
    def step(t, rng):
        with t.attach() as traced:
            time.sleep(rng.uniform(0, 0.3))
            verdict, ms = planted.measure(t, traced)
        found = judge(planted, verdict, ms)
        said = "; ".join(f"{one['cause']} {one['fault']} {one.get(planted.length, 0) / 1e6:.1f} ms" for one in verdict[:3])
        t.note(f"step {t.number}: {found}; planted {ms:.1f} ms, reported {said}")
        return found

    step.__name__ = "latency_" + planted.what.lower().replace(" ", "_")
    step.__doc__ = f"hvtrace latency, {planted.what}: the first cause, its fault and its length are correct."
    MACHINES[step.__name__] = planted.machine
    if planted.needs_kvm:
        NEED_KVM.add(step.__name__)
    return step


for one_stall in PLANTED:
    campaign(latency_of(one_stall))


MACHINES["chains"] = {"vcpus": 2, "in_turn": True, "cmdline": "preempt=full"}
# How each member joins and leaves. The guest's kernel frees the trampolines of these users when they leave.
OWN_USERS = {
    "top": ("echo vfs_read vfs_open >set_ftrace_filter && echo function >current_tracer", "echo nop >current_tracer; echo >set_ftrace_filter; echo >trace"),
    "instance": (
        "mkdir instances/own && echo vfs_open vfs_statx >instances/own/set_ftrace_filter && echo function >instances/own/current_tracer",
        "rmdir instances/own",
    ),
    "kprobe": ("echo p:own vfs_read >kprobe_events && echo 1 >events/kprobes/own/enable", "echo 0 >events/kprobes/own/enable; echo >kprobe_events"),
}
USED = {"top": ("vfs_read", "vfs_open"), "instance": ("vfs_open", "vfs_statx"), "kprobe": ("vfs_read",)}
# How hvtrace joins and leaves: files and what is written to them.
WAYS = {
    "function": ((("current_tracer", "function"),), (("current_tracer", "nop"),)),
    "commands": (
        (("set_ftrace_filter", "vfs_open:stacktrace"), ("current_tracer", "function")),
        (("current_tracer", "nop"), ("set_ftrace_filter", "!vfs_open:stacktrace")),
    ),
    "function_graph": ((("current_tracer", "function_graph"),), (("current_tracer", "nop"),)),
}


class Users:
    """hvtrace and the guest's own users of vfs_read, vfs_open and vfs_statx."""

    def __init__(self, t, rng):
        self.t, self.rng, self.inside, self.way = t, rng, set(), "function"

    def step(self, member):
        """MEMBER joins, or leaves if it had joined."""
        joins = member not in self.inside
        if member == "hvtrace":
            self.way = self.rng.choice(list(WAYS)) if joins else self.way
            for file, text in WAYS[self.way][0 if joins else 1]:
                self.t.hv("echo", "-a", self.t.name, file, text)
        else:
            self.t.guest.run_own(f"cd /sys/kernel/tracing; {OWN_USERS[member][0 if joins else 1]}")
        self.inside ^= {member}

    def check(self):
        """hvtrace traces the functions if it has joined. Its function_graph traces those with one user at most, because
        others might replace return addresses, too."""
        if "hvtrace" not in self.inside:
            return
        users = [name for member in self.inside - {"hvtrace"} for name in USED[member]]
        shared = {name for name in users if users.count(name) > 1} if self.way == "function_graph" else set()
        wanted = {"vfs_read", "vfs_open"} - shared

        def seen():
            self.t.hv("echo", self.t.name, "trace", "")
            self.t.guest.run("cat /proc/uptime; stat /proc/uptime")
            text = self.t.hv("cat", self.t.name, "trace")
            return all(f"{name} <-" in text or f"{name}()" in text for name in wanted)

        assert until(seen), f"{sorted(self.inside)}, {self.way}: not traced"
        assert self.t.hv.stat(self.t.name)["sites"]["refused"] == len(shared), f"{sorted(self.inside)}, {self.way}: {self.t.hv.stat(self.t.name)['sites']}"

    def leave(self):
        for member in sorted(self.inside - {"hvtrace"}):
            self.step(member)


@campaign
def chains(t, rng):
    """Under load, hvtrace and three users in a preemptible guest use the same functions, and join and leave in a random
    order. hvtrace traces functions, with commands or without, or function_graph. In every other step, kill -9 in one of
    these states; the guest's users continue, and recover restores all."""
    users = Users(t, rng)
    kills_at = rng.randrange(2, 12) if t.number % 2 else None
    t.guest.run(LOAD)
    try:
        t.hv("attach", t.name)
        t.hv("echo", t.name, "set_ftrace_filter", "vfs_*")
        for nr in range(12):
            users.step(rng.choice(("hvtrace", "hvtrace", *OWN_USERS)))
            users.check()
            if nr == kills_at:
                there = victims(t)
                for one in rng.choice(cases_beside.WHOM):
                    if one in there:
                        kill(there[one])
                users.inside.discard("hvtrace")
                break
        if rng.random() < 0.5:
            users.leave()
        settle(t)
    finally:
        settle(t)
        users.leave()
        t.guest.run(END_LOAD)
    return "killed" if kills_at else "12 changes"
