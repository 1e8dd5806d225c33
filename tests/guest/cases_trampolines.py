# SPDX-License-Identifier: GPL-2.0-or-later
"""Whether the code of the trampolines fits the kernel's present state."""

import os
import re
import struct

from lib.memory import Memory
from lib.suite import IN_TURN, Skip, case
from lib.wait import until

PREEMPT = "/sys/kernel/debug/sched/preempt"
XADD = b"\x49\x0f\xc1\x02"  # xadd %rax, (%r10): the reservation of a record
CODE_BYTES = 0x80


def trampoline_code(memory, at):
    """Returns the first bytes of the trampoline that the site of the function AT calls, read from QEMU's memory."""
    site = memory.read_gpa(memory.walk(at), 16)
    off = site.index(b"\xe8")
    trampoline = at + off + 5 + struct.unpack_from("<i", site, off + 1)[0]
    hva = re.search(r"is (0x[0-9a-f]+)", memory.domain.monitor(f"gpa2hva {memory.walk(trampoline):#x}"))
    return os.pread(memory.file, CODE_BYTES, int(hva[1], 16))


def is_locked(memory, at):
    code = trampoline_code(memory, at)
    prefix = code[code.index(XADD) - 1]
    assert prefix in (0xF0, 0x3E), f"{prefix:#x} before the reservation: {code.hex()}"
    return prefix == 0xF0


@case(configs=IN_TURN)
def locks_where_the_kernel_preempts(t):
    """Trampolines use locked reservations once the guest's kernel begins to preempt itself, permanently; before that they do
    not."""
    t.guest.run("mountpoint -q /sys/kernel/debug || mount -t debugfs none /sys/kernel/debug")
    before = re.search(r"\((\w+)\)", t.guest.run(f"cat {PREEMPT} 2>&1 || true"))
    if not before or before[1] not in ("none", "voluntary"):
        raise Skip(f"the kernel's preemption mode cannot be switched: {before and before[0]}")
    at = int(t.guest.run("grep -E ' vfs_read$' /proc/kallsyms").split()[0], 16)
    memory = Memory(t.guest)
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_read")
        traced.echo("current_tracer", "function")
        assert not is_locked(memory, at), "locked in a kernel that does not preempt itself"
        t.guest.run(f"echo full >{PREEMPT}")
        assert until(lambda: is_locked(memory, at)), "not locked in a kernel that preempts itself"
        t.guest.run(f"echo {before[1]} >{PREEMPT}")
        traced.echo("events/sched/sched_switch/enable", "1")  # makes hvtrace write the trampolines again
        assert not until(lambda: not is_locked(memory, at), 1), "unlocked again, although it may have preempted a task there"
        t.guest.run("cat /proc/uptime")
        assert "vfs_read" in traced.text("trace"), traced.text("trace")[:500]
    t.guest.run(f"echo full >{PREEMPT}")
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_read")
        traced.echo("current_tracer", "function")
        assert is_locked(memory, at), "not locked in a kernel that preempts itself at attach"
    t.guest.run(f"echo {before[1]} >{PREEMPT}")
    memory.close()
