# SPDX-License-Identifier: GPL-2.0-or-later
"""Events of a module: recorded by the guest and hvtrace together, while the guest tries to remove the module, and after
a kill."""

import dataclasses

from cases_beside import kill, settle, victims
from cases_events import WITH_MODULES, agree, events_of
from cases_named import record_both
from lib.suite import ONE_VCPU, case
from lib.wait import until

OWN = "/sys/kernel/tracing"
WITH_XFS = tuple(dataclasses.replace(config, modules=("loop", "xfs")) for config in ONE_VCPU[:1])
# xfs reads a file system's first block, finds no file system, and reports that.
MOUNTS = "mount -t xfs -o ro /dev/loop0 /mnt 2>/dev/null || true"
PROBES = "xfs_buf"
SOME = "xfs:xfs_buf_init xfs:xfs_buf_free"


def goes(t, module="xfs"):
    """Removes the module. Returns false if it is in use."""
    return t.guest.run(f"rmmod {module} 2>/dev/null && echo gone || true").strip() == "gone"


def comes(t):
    t.guest.run("[ -d /sys/module/xfs ] || insmod /modules/xfs.ko")


def mounted(t, traced):
    """Returns the module's events in a new trace of an attempt to mount."""
    traced.echo("trace", "")
    t.guest.run(MOUNTS)
    return [line for line in traced.text("trace").splitlines() if PROBES in line]


@case(configs=WITH_XFS)
def events_of_a_module(t):
    """The guest and hvtrace record the events of xfs together: same tasks, flags and texts. While they are on, the
    guest cannot remove the module; when they are off, it can, even if other events are on. After kill -9, recover
    disables them. The guest removes the module and loads it again, and its events are recorded again."""
    t.guest.run("for m in $(cat /modules/order); do [ -d /sys/module/$m ] || insmod /modules/$m.ko; done")
    t.guest.run("mkdir -p /mnt; dd if=/dev/zero of=/tmp/img bs=1M count=1 2>/dev/null; losetup /dev/loop0 /tmp/img")
    dmesg = t.guest.run("dmesg | wc -l").strip()
    try:
        with t.attach() as traced:
            traced.echo("tracing_on", "0")
            traced.echo("events/xfs/enable", "1")
            left_out = [line for line in traced.text("error_log").splitlines() if "xfs" in line]
            assert not goes(t), "removed while its events are on"
            assert "\nmodules held xfs\n" in t.hv("stat", t.name)
            traced.echo("tracing_on", "1")
            own = t.guest.run_own(
                f"cd {OWN}; echo 0 >tracing_on; echo 5000 >buffer_size_kb; echo 1 >events/xfs/enable; echo >trace; "
                f"echo 1 >tracing_on; {MOUNTS}; echo 0 >tracing_on; echo 0 >events/enable; cat trace; echo >trace; echo 1 >tracing_on"
            )
            own, ours = events_of(own), events_of(traced.text("trace"))
            assert any(PROBES in key[3] for _, key in own), own
            agree(own, ours)
            # The guest itself has enabled and disabled the events.
            assert mounted(t, traced)
            traced.echo("events/sched/sched_process_exit/enable", "1")
            traced.echo("events/xfs/enable", "0")
            assert until(lambda: goes(t)), "in use though none of its events is on"
            assert "modules held" not in t.hv("stat", t.name)
            assert "sched_process_exit: " in traced.text("trace")
            assert "xfs" not in traced.text("available_events")
            comes(t)
            assert until(lambda: "xfs" in traced.text("available_events"))
            traced.echo("set_event", SOME)
            assert mounted(t, traced)
            # Detaches while the guest has them enabled, too.
            t.guest.run_own(f"echo 1 >{OWN}/events/xfs/enable")
        t.guest.run(MOUNTS)
        assert PROBES in t.guest.run_own(f"cd {OWN}; cat trace; echo 0 >events/enable; echo >trace")
        assert goes(t), "in use after detach"
        for whom in (("broker", "service"), ("service", "holder")):
            comes(t)
            t.hv("attach", t.name)
            t.hv("echo", t.name, "set_event", SOME)
            t.guest.run(MOUNTS)
            assert not goes(t), "removed while its events are on"
            there = victims(t)
            for one in whom:
                if one in there:
                    kill(there[one])
            settle(t)
            t.guest.run(MOUNTS)
            assert goes(t), "in use after recover"
    finally:
        settle(t)
        t.guest.run(f"cd {OWN}; echo 0 >events/enable; echo >trace; losetup -d /dev/loop0; rm -f /tmp/img; true")
        t.guest.run("for m in $(tac /modules/order); do [ $m = dummy ] || rmmod $m 2>/dev/null; done; true")
    said = [line for line in t.guest.run(f"dmesg | tail -n +{int(dmesg) + 1}").splitlines() if "WARN" in line or "BUG" in line]
    assert not said, said
    t.note(f"{len(own)} of {len(ours)} events in both, {len(left_out)} refused")


# Each line written makes a negative entry in a cache of sunrpc, and so one event.
CACHED = "for n in 1 2 3; do echo 'nfsd 127.0.0.1 2147483647' >/proc/net/rpc/auth.unix.ip/channel; done"
TRACEPOINT = "t:cache cache_entry_make_negative name=cd->name:string flags=h->flags"
NAME = 'name="auth.unix.ip"'


@case(configs=WITH_MODULES[1:], sanitized=True)
def probes_of_a_modules_tracepoint(t):
    """Probes of a module's tracepoint record the same events as the guest's own, if its kernel has them for modules.
    While they are on, the module cannot be removed; when they are off, it can, and they continue when it is loaded
    again. After kill -9, recover removes them and releases the module."""
    t.guest.run("insmod /modules/sunrpc.ko")
    own_has_them = "for_each_module_tracepoint" in t.guest.run("grep -w for_each_module_tracepoint /proc/kallsyms || true")
    switch = "events/tracepoints/enable"

    def recorded(traced):
        traced.echo("trace", "")
        t.guest.run(CACHED)
        return traced.text("trace", timeout=300).count(NAME)

    try:
        with t.attach() as traced:
            if own_has_them:
                own, ours = record_both(t, traced, TRACEPOINT, CACHED)
                assert own == ours and sum(own.values()) == 3, (own, ours)
            traced.echo("dynamic_events", TRACEPOINT)
            traced.echo(switch, "1")
            assert not goes(t, "sunrpc"), "removed while a probe of its tracepoint is on"
            assert "\nmodules held sunrpc\n" in t.hv("stat", t.name)
            t.hv.fails("echo", t.name, "events/sunrpc/cache_entry_make_negative/enable", "1", says=("another event",))
            assert recorded(traced) == 3
            traced.echo(switch, "0")
            assert until(lambda: goes(t, "sunrpc")), "in use though no probe is on"
            assert until(lambda: "sunrpc" not in traced.text("available_events"))
            t.hv.fails("echo", t.name, switch, "1", says=("was removed",))
            t.guest.run("insmod /modules/sunrpc.ko")
            assert until(lambda: "sunrpc" in traced.text("available_events"))
            traced.echo(switch, "1")
            assert recorded(traced) == 3
        assert goes(t, "sunrpc"), "in use after detach"
        t.guest.run("insmod /modules/sunrpc.ko")
        traced = t.attach().__enter__()
        traced.echo("dynamic_events", TRACEPOINT)
        traced.echo(switch, "1")
        traced.kill()
        t.guest.run(CACHED)
        assert not goes(t, "sunrpc"), "removed after a kill"
        said = t.recover()
        assert "1 event of the guest switched off" in said, said
        t.guest.run(CACHED)
        assert goes(t, "sunrpc"), "in use after recover"
    finally:
        settle(t)
        t.guest.run("rmmod sunrpc 2>/dev/null; true")
    t.note(f"the guest's own kernel supports these probes: {own_has_them}")
