# SPDX-License-Identifier: GPL-2.0-or-later
"""A tracepoint that the guest and hvtrace use together: every order of joining and leaving it."""

import itertools
import os
import signal
import time

from cases_latency import PLANTED, load_planted, plant
from lib.suite import IN_TURN, ONE_VCPU, STANDARD, case
from lib.tool import children_of, is_parser
from lib.wait import HANG_SECONDS, until

OWN = "/sys/kernel/tracing"
MAKES = "cat /proc/version >/dev/null"
# All of these occur while MAKES runs. Page faults have a second static key, and kmalloc has many sites.
EVENTS = (
    "exceptions/page_fault_user",
    "raw_syscalls/sys_enter",
    "kmem/kmalloc",
    "sched/sched_process_exec",
    "sched/sched_process_exit",
    "sched/sched_waking",
)
# hvtrace, the guest's top directory and one of the guest's instances each join and leave once: 90 orders.
MEMBERS = ("hvtrace", "top", "instance")
ORDERS = [order for order in sorted(set(itertools.permutations(MEMBERS * 2)))]
STATES = len(MEMBERS) * 2 + 1  # before the first step of an order, and after each step
WHOM = (("service",), ("broker",), ("holder",), ("broker", "service"), ("service", "holder"), ("holder", "broker", "service"))
BLOCK = 9  # orders in one session


class Room:
    """The users of EVENT."""

    def __init__(self, t, event):
        self.t, self.event = t, event
        self.inside = set()

    def _own(self, member):
        return OWN if member == "top" else f"{OWN}/instances/beside"

    def _switch(self, member, value):
        if member == "hvtrace":
            self.t.hv("echo", self.t.name, f"events/{self.event}/enable", str(value))
        else:
            self.t.guest.run_own(f"echo {value} >{self._own(member)}/events/{self.event}/enable")

    def step(self, member):
        """MEMBER joins, or leaves if it had joined."""
        self._switch(member, int(member not in self.inside))
        self.inside ^= {member}

    def check(self, session=True):
        """All members that have joined get the event, and no other member does."""
        name = self.event.split("/")[1] + ": " if "sys_enter" not in self.event else ": NR "
        if session:
            self.t.hv("echo", self.t.name, "trace", "")
        # A trace that continues while it is read may have no end.
        places = [self._own(member) for member in MEMBERS[1:]]
        said = self.t.guest.run(
            "".join(f"echo >{place}/trace; echo 1 >{place}/tracing_on; " for place in places)
            + MAKES
            + "".join(f"; echo 0 >{place}/tracing_on" for place in places)
            + "".join(f"; head -n 2000 {place}/trace | grep -c '{name}'" for place in places)
            + "".join(f"; echo 1 >{place}/tracing_on" for place in places)
        )
        found = {member for member, count in zip(MEMBERS[1:], said.split()) if int(count)}
        if session and name in self.t.hv("cat", self.t.name, "trace"):
            found.add("hvtrace")
        assert found == self.inside, f"{self.event}: {sorted(found)} got it, {sorted(self.inside)} should"


def make_instance(t):
    t.guest.run(f"mkdir -p {OWN}/instances/beside")


def remove_instance(t):
    t.guest.run(f"for e in {OWN} {OWN}/instances/beside; do echo 0 >$e/events/enable; echo >$e/trace; done; rmdir {OWN}/instances/beside")


def rounds(t, orders, number):
    """Runs each of ORDERS in one session. Returns the number of rounds."""
    make_instance(t)
    try:
        with t.attach():
            for i, order in enumerate(orders):
                room = Room(t, EVENTS[(number + i) % len(EVENTS)])
                for member in order:
                    room.step(member)
                    room.check()
    finally:
        remove_instance(t)
    return len(orders)


def victims(t):
    """Returns {kind: pid} of the session's processes: the service, its broker, and the broker's helper that stops the
    guest for holds."""
    found = {}
    for path in t.hv.run_dirs(t.name):
        try:
            with open(f"{path}/pid", encoding="ascii") as file:
                found["service"] = int(file.read())
        except (OSError, ValueError):
            continue  # it is just starting or exiting
        for kind, parent in (("broker", "service"), ("holder", "broker")):
            for pid in children_of(found.get(parent, 0)):
                if not is_parser(pid):
                    found[kind] = pid
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it had ended


def settle(t):
    """Detaches or recovers until nothing of the session is left."""
    deadline = time.monotonic() + HANG_SECONDS
    err = ""
    while time.monotonic() < deadline:
        status, _, err = t.hv.run("recover", t.name)
        if status == 0 or "nothing to recover" in err or "no region" in err:
            return
        if "already attached" in err:
            t.hv.run("detach", t.name)
        if "may return into a trampoline" in err:
            t.disturb()
        time.sleep(0.3)
    raise AssertionError(f"neither detached nor recovered: {err.strip()}")


def killed_round(t, order, state, whom, event):
    """Runs ORDER up to STATE, kills WHOM with kill -9, removes the session's changes, and lets the guest run the
    rest."""
    make_instance(t)
    try:
        t.hv("attach", t.name)
        room = Room(t, event)
        for member in order[:state]:
            room.step(member)
        room.check()
        there = victims(t)
        for one in whom:
            if one in there:
                kill(there[one])
        settle(t)
        assert until(lambda: not t.hv.processes(t.name)), t.hv.processes(t.name)
        room.inside.discard("hvtrace")
        room.check(session=False)
        for member in order[state:]:
            if member != "hvtrace":
                room.step(member)
                room.check(session=False)
    finally:
        settle(t)
        remove_instance(t)


@case(configs=ONE_VCPU[-1:])
def orders_of_sharing_a_tracepoint(t):
    """hvtrace, the guest's top directory and one of its instances join and leave a tracepoint in three of the 90
    orders. In two more, hvtrace is killed while the guest has joined. Members that have joined get the event, and no
    other member does. The campaign tracepoints runs all orders."""
    orders = [ORDERS[at] for at in (22, 37, 67)]
    nr = rounds(t, orders, 0)
    beside = ("hvtrace", "top", "instance", "top", "hvtrace", "instance")
    killed_round(t, beside, 3, ("broker", "service"), EVENTS[1])
    killed_round(t, beside, 4, ("broker", "service"), EVENTS[0])
    t.note(f"{nr} orders, 2 kills")


def counts_the_rest(t):
    """hvtrace hist counts a function and interrupts, but not waits, which end with sched_switch: it cannot join that
    event of the guest."""
    counting = t.hv.start("hist", t.name, "vfs_read", "sched:sched_waking", "irq:irq_handler_entry")
    t.await_record(counting, "function_graph")
    events = t.hv("cat", t.name, f"instances/record-{counting.pid}/set_event").split()
    assert sorted(events) == ["irq:irq_handler_entry", "irq:irq_handler_exit"], events
    t.guest.run("cat /proc/uptime")
    out, err = (data.decode(errors="replace") for data in t.end_recording(counting))
    assert "sched:sched_waking is not counted: sched:sched_switch: the guest itself uses its tracepoint, with 10 callbacks, more than hvtrace has room for; try again when" in err, err
    assert "vfs_read" in out and "irq:irq_handler_entry" in out and "sched_waking" not in out, out
    status, _, err = t.hv.run("hist", "--for", "1ms", t.name, "irq:*_entry", "sched:sched_waking")
    assert status == 0 and "sched:sched_waking is not counted: " in err, err
    t.hv.fails("hist", "--for", "1ms", t.name, "sched:sched_waking",
               says=("sched:sched_switch: the guest itself uses its tracepoint, with 10 callbacks",))


def record_sched(t):
    """Returns the output and the messages of `hvtrace record -e sched` while MAKES runs."""
    recording = t.hv.start("record", "-e", "sched", t.name)
    t.await_event(recording, "sched_waking")
    t.guest.run(MAKES)
    return (data.decode(errors="replace") for data in t.end_recording(recording))


@case(sanitized=True)
def tracepoints_that_the_guest_uses_are_joined(t):
    """The guest records all events of a system when hvtrace joins. hvtrace gets all of them, and the guest gets its own
    throughout, also when it leaves and joins again. When hvtrace enables sched_switch again, it keeps the callbacks that
    the guest has by then."""
    switch = f"{OWN}/events/sched/sched_switch/enable"
    t.guest.run(f"echo 1 >{OWN}/events/sched/enable")
    with t.attach() as traced:
        out, err = record_sched(t)
        assert "cannot be recorded now" not in err, err
        for event in ("sched_process_exec:", "sched_switch:", "sched_wakeup:"):
            assert event in out, f"no {event}: {out[-1000:]}"
        traced.echo("events/sched/sched_switch/enable", "1")
        t.guest.run(f"echo 0 >{OWN}/events/sched/enable; echo >{OWN}/trace; {MAKES}")
        assert "sched_switch:" not in t.guest.run(f"cat {OWN}/trace"), "the guest's trace still has sched_switch"
        assert "sched_switch:" in traced.text("trace")
        traced.echo("events/sched/sched_switch/enable", "0")
        traced.echo("trace", "")
        t.guest.run(f"echo 1 >{switch}")
        traced.echo("events/sched/sched_switch/enable", "1")
        t.guest.run(f"{MAKES}; mkdir {OWN}/instances/beside; echo 1 >{OWN}/instances/beside/events/sched/sched_switch/enable; {MAKES}")
        assert "sched_switch:" in traced.text("trace")
    said = t.guest.run(f"echo >{OWN}/trace; echo >{OWN}/instances/beside/trace; {MAKES}; cat {OWN}/trace {OWN}/instances/beside/trace | grep -c sched_switch:")
    assert int(said) > 1, "the guest's tracing has stopped"
    remove_instance(t)


@case(configs=STANDARD[2:3], further=STANDARD[:2])
def events_that_cannot_be_joined_are_skipped(t):
    """hvtrace records all events of a system except one: the guest has more callbacks there than fit into hvtrace's
    array. hvtrace names that event, and records it after the guest has left it. The guest's own recording is never
    interrupted."""
    own = "for i in 1 2 3 4 5 6 7 8; do"
    t.guest.run(f"echo 1 >{OWN}/events/sched/sched_switch/enable; {own} mkdir {OWN}/instances/$i; echo 1 >{OWN}/instances/$i/events/sched/sched_switch/enable; done")
    with t.attach() as traced:
        out, err = record_sched(t)
        said = [line for line in err.splitlines() if "cannot be recorded now" in line]
        assert len(said) == 1 and all(words in said[0] for words in ("sched:sched_switch", "the guest itself uses its tracepoint, with 10 callbacks")), err
        assert "sched_process_exec:" in out and "sched_switch:" not in out, out[-1000:]
        status, _, err = t.hv.run("record", "-e", "sched:sched_sw*", "--for", "1ms", t.name)
        assert status == 0 and "1 of 2 events cannot be recorded: sched:sched_switch: " in err, err
        t.hv.fails("record", "-e", "sched:sched_swi*", "--for", "1ms", t.name, says=("the guest itself uses its tracepoint",))
        counts_the_rest(t)
        t.hv.fails("echo", t.name, "events/sched/sched_switch/enable", "1", says=("the guest itself uses its tracepoint",))
        traced.echo("events/sched/enable", "1")
        assert traced.text("events/sched/enable") == "X\n"
        t.guest.run(f"{own} rmdir {OWN}/instances/$i; done")
        traced.echo("events/sched/enable", "1")
        assert traced.text("events/sched/enable") == "1\n"
        t.guest.run(MAKES)
        assert "sched_switch:" in traced.text("trace")
    assert "sched_switch:" in t.guest.run(f"cat {OWN}/trace")
    t.guest.run(f"echo 0 >{OWN}/events/sched/sched_switch/enable; echo >{OWN}/trace")


@case(configs=ONE_VCPU[:1], further=ONE_VCPU[1:])
def all_events_that_the_guest_uses_are_joined(t):
    """The guest records the events of all systems except sched (see the cases above) when hvtrace enables them all,
    disables them and enables them again. Both get the events, and hvtrace leaves first."""

    def switch(value):
        t.guest.run_own(f"cd {OWN}; for e in $(ls -d events/*/enable | grep -v -e /sched/ -e /ftrace/); do echo {value} >$e; done")

    # Earlier cases may have made the guest's own trace small.
    t.guest.run(f"echo 20000 >{OWN}/buffer_size_kb")
    try:
        switch(1)
        with t.attach() as traced:
            traced.echo("events/sched/enable", "0")
            systems = [name for name in t.hv("ls", t.name, "events").split() if name not in ("enable", "ftrace", "sched") and not name.startswith("header_")]
            for name in systems:
                t.hv.run("echo", t.name, f"events/{name}/enable", "1")
            events = traced.text("set_event").split()
            assert len(events) > 300, events
            left_out = [line for line in traced.text("error_log").splitlines() if "cannot be recorded now" in line]
            busy = [line for line in traced.text("error_log").splitlines() if "the guest itself uses" in line and "in two pages" not in line]
            assert not busy, busy
            switch(0)
            t.guest.run(MAKES)
            switch(1)
            traced.echo("trace", "")
            t.guest.run(MAKES)
            assert "kmalloc:" in traced.text("trace"), "no kmalloc in hvtrace's trace"
            t.note(f"{len(events)} events; {len(left_out)} errors about skipped events")
        assert "kmalloc:" in t.guest.run_own(f"echo >{OWN}/trace; {MAKES}; head -n 5000 {OWN}/trace | grep kmalloc: | tail -n 3"), "no kmalloc in the guest's own trace"
    finally:
        switch(0)
        t.guest.run(f"echo >{OWN}/trace; echo 1 >{OWN}/buffer_size_kb")


SLOW = "timer/hrtimer_start"  # the module planted has a callback here that takes as long as requested


@case(configs=IN_TURN[:1])
def an_array_that_the_guest_has_replaced_is_waited_for(t):
    """A vCPU is in one of the guest's callbacks for some seconds and then calls hvtrace's, from an array that the guest
    has replaced by then. hvtrace leaves the new array immediately, but keeps its callback's code until the vCPU has
    called it."""
    load_planted(t)
    make_instance(t)
    try:
        times = int(PLANTED * 2e6 / plant(t, "timer", cpu=1))
        # Do the one-time setup of an instance's first event now.
        t.guest.run(f"for i in {OWN} {OWN}/instances/beside; do echo 1 >$i/events/sched/sched_process_exec/enable; done")
        with t.attach() as traced:
            traced.echo(f"events/{SLOW}/enable", "1")
            t.guest.run(f"echo 1 >{OWN}/events/{SLOW}/enable")
            # The vCPU takes no interrupts in that time, so commands might have to wait for it.
            replaces = f"sleep 1; echo 1 >{OWN}/instances/beside/events/{SLOW}/enable; cat /proc/uptime >/tmp/replaced"
            t.guest.run(f"(sleep 0.5; taskset 2 planted timer {times} >/tmp/slow; cat /proc/uptime >>/tmp/slow) >/dev/null 2>&1 & taskset 1 sh -c '{replaces}' >/dev/null 2>&1 &")
            time.sleep(1.5)
            begun = time.monotonic()
        took = time.monotonic() - begun
        words = t.guest.run("until [ -s /tmp/replaced ] && grep -q [.] /tmp/slow; do sleep 0.1; done; cat /tmp/slow /tmp/replaced").split()
        ns, slow, replaced = int(words[1]), float(words[2]), float(words[4])
        t.note(f"the guest's probe took {ns / 1e9:.1f} s; the array was replaced {slow - replaced:.1f} s before its end; hvtrace left in {took:.1f} s")
        assert took > 0.5, "hvtrace did not wait, or the vCPU had already called it"
    finally:
        t.guest.run("rm -f /tmp/slow /tmp/replaced")
        remove_instance(t)
        t.guest.run("rmmod planted")
