# SPDX-License-Identifier: GPL-2.0-or-later
"""VMMs without a monitor: twins of Firecracker and cloud-hypervisor (tests/guest/twin.c), with their seccomp filters in
each thread, in an empty root, another pid namespace and another user. Any call that a filter does not allow kills the
VMM."""

import contextlib
import json
import os
import signal
import time
import types

from cases_own import count_calls, healthy
from lib.own import APPEND, SHELL, OwnMachine, kernel_file
from lib.suite import OWN_GUESTS, case
from lib.wait import until

KINDS = ("firecracker", "cloud-hypervisor")


class Twin(OwnMachine):
    """A booted twin; NAME is how hvtrace finds it."""

    def __init__(self, t, kind, claimed):
        super().__init__(t.hv, "bookworm")
        bzimage, initrd = kernel_file("bookworm")
        self.session_hv = t.hv
        self.hv = types.SimpleNamespace(path="twin", env=t.hv.env)
        self.words = [kind, bzimage, initrd, f"{APPEND} {SHELL}", "--id", claimed]
        self.name = f"vmm:{claimed}"

    def __enter__(self):
        super().__enter__()
        self.wait_said("filtered")
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            self.pid = int(file.read())
        return self

    def __exit__(self, *error):
        with contextlib.suppress(OSError, AttributeError):
            os.kill(self.pid, signal.SIGKILL)
        self.process.kill()
        super().__exit__(*error)


def listed(t):
    return {row["name"]: row for row in json.loads(t.hv("list", "--json"))}


@case(configs=OWN_GUESTS)
def vmms_without_monitor(t):
    """`list` shows them by id, `attach` injects calls that the filters allow into the main thread, the calls of a workload
    are recorded, and detach restores the text. The VMM survives, also kill -9 of all of hvtrace."""
    for kind in KINDS:
        with Twin(t, kind, f"twin-{kind}") as machine:
            row = listed(t)[machine.name]
            assert row["traceable"] == "yes" and row["pid"] == machine.pid and row["vmm"] == "twin", row
            t.hv.fails("attach", machine.name, says=("saving the guest", "attach --force"))
            t.hv("attach", "--force", machine.name)
            nr = count_calls(t, machine)
            transport = t.hv.stat(machine.name)["transport"]
            assert "no monitor" in transport, transport
            said = t.hv("detach", machine.name)
            assert "no changes by hvtrace left" in said, said
            name = f"pid:{machine.pid}"
            t.hv("attach", "--force", name)
            t.hv("echo", name, "current_tracer", "function")
            for pid, _words in t.hv.processes(name):
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            machine.run("ls / >/dev/null")
            assert until(lambda: not t.hv.processes(name)), "processes of hvtrace are left"
            said = t.hv("recover", name)
            assert "sites restored" in said, said
            healthy(machine)
            t.note(f"{kind}: {nr} events, {transport}")


@case(configs=OWN_GUESTS)
def hostile_vmms(t):
    """Two processes claim the same id: hvtrace refuses the id, and accepts the pid of each. An id with control
    characters is ignored. A paused guest is refused."""
    with Twin(t, KINDS[0], "twice") as one, Twin(t, KINDS[1], "twice") as two, Twin(t, KINDS[0], "bad\033[31mid") as bad:
        rows = listed(t)
        assert "vmm:twice" not in rows, rows
        for machine in (one, two, bad):
            assert f"pid:{machine.pid}" in rows, rows
        assert "another process" in rows[f"pid:{one.pid}"]["reason"], rows
        t.hv.fails("check", "vmm:twice", says=("vmm:twice", "claim this id"))
        t.hv.fails("check", "vmm:none", says=("vmm:none", "no process with a KVM machine"))
        t.hv("check", f"pid:{one.pid}")
        os.kill(two.pid, signal.SIGUSR2)
        time.sleep(0.5)
        t.hv.fails("attach", f"pid:{two.pid}", says=("paused",))
        os.kill(two.pid, signal.SIGHUP)
        two.run("true")
        t.hv("check", f"pid:{two.pid}")
