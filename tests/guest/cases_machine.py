# SPDX-License-Identifier: GPL-2.0-or-later
"""Machines of all kinds, bad input, and deaths of processes at any moment."""

import contextlib
import dataclasses
import os
import random
import re
import signal
import subprocess
import threading
import time

from lib import ftrace
from lib.daemons import virsh
from lib.domain import BOOT_SECONDS, Config
from lib.memory import Memory
from lib.suite import IN_TURN, KERNELS, OLDEST, OWN_GUESTS, STANDARD, Skip, case, left_behind, private_dir
from lib.tool import PARSER, child_of, children_of, parser_of
from lib.wait import HANG_SECONDS, until



def comm_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


BOTH = (STANDARD[0], STANDARD[2])
KINDS = (
    Config("bookworm", cmdline="nokaslr"),
    Config("trixie", cmdline="nokaslr no5lvl"),
    Config("bookworm", cmdline="no5lvl pti=on"),
    Config("trixie", cmdline="pti=on"),
    Config("bookworm", shared_ram=False, vcpus=4),
)
# A kernel that freezes its tasks patches itself (static keys). docs/internals/testing.md explains why vCPUs run in turn
# then.
HIBERNATING = tuple(dataclasses.replace(config, disk_mib=1024, cmdline="resume=/dev/nvme0n1") for config in IN_TURN)


@case(configs=(*KINDS[1:3], KINDS[4]), further=(KINDS[0], KINDS[3]), sanitized=True)
def kinds_of_machine(t):
    """KASLR off, four levels, KPTI, private RAM, four vCPUs: attach, trace, detach."""
    functions = t.guest.run_bytes("cat /sys/kernel/tracing/available_filter_functions")
    with t.attach() as traced:
        assert traced.cat("available_filter_functions") == functions, "available_filter_functions differ"
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        t.guest.run("cat /proc/uptime")
        events, _ = ftrace.parse(traced.text("trace"))
        assert any(e.function == "vfs_read" for e in events), f"{events[:3]}"


@case(configs=BOTH[:1])
def bad_input(t):
    """Filters without a match, unknown names, a second attach: each is an error and changes nothing."""
    t.hv.fails("cat", t.name, "trace", says=[t.name])
    t.hv.fails("detach", t.name, says=[t.name])
    t.hv.fails("attach", "--via=inject", t.name, says=["inject"])
    with t.attach() as traced:
        t.hv.fails("attach", t.name, says=["already attached"])
        t.hv.fails("echo", t.name, "set_ftrace_filter", "no_such_function", says=["Invalid argument"])
        t.hv.fails("echo", t.name, "current_tracer", "no_such_tracer", says=["Invalid argument"])
        t.hv.fails("echo", t.name, "tracing_on", "x", says=["Invalid argument"])
        t.hv.fails("echo", t.name, "set_ftrace_pid", "x", says=["Invalid argument"])
        t.hv.fails("cat", t.name, "no_such_file", says=["No such file"])
        assert traced.text("current_tracer") == "nop\n"
        assert traced.text("set_ftrace_filter") == "#### all functions enabled ####\n"
    for words in (("frobnicate",), ("cat",), ("echo", t.name), ("attach", "--nonsense", t.name)):
        status, _, err = t.hv.run(*words)
        assert status == 2 and err.strip(), f"hvtrace {' '.join(words)}: exit {status}: {err!r}"


@case(configs=BOTH[:1])
def look_only(t):
    """list and check describe the machine and change nothing."""
    assert t.name in t.hv("list")
    text = t.hv("check", "--json", t.name)
    release = t.guest.run("uname -r").strip()
    assert release in text, f"{release} is not in {text[:500]}"


@case(configs=BOTH[:1])
def paused_domain(t):
    """A paused domain is refused and stays paused."""
    virsh("suspend", t.name)
    try:
        t.hv.fails("attach", t.name, says=["paused"])
        assert t.guest.state() == "paused", t.guest.state()
    finally:
        virsh("resume", t.name)


@case(configs=BOTH[:1])
def debugger_on_the_gdb_stub(t):
    """A debugger attached to the guest by another user stays attached, even at a socket whose name resembles
    hvtrace's."""
    near = os.path.join(private_dir(t.guest), "hvtrace-gdb.sock.mine")
    for where in ("tcp:127.0.0.1:0", f"unix:{near},server=on,wait=off"):
        t.guest.monitor(f"gdbserver {where}")
        try:
            t.hv.fails("attach", t.name, says=["gdb"])
            assert "gdb" in [device["label"] for device in t.guest.qmp("query-chardev")]
        finally:
            t.guest.monitor("gdbserver none")


@case(configs=BOTH[:1])
def left_gdb_stub_is_removed(t):
    """hvtrace was killed before its first change, or after everything was restored: recover finds no change, and
    removes the remains of the gdb stub."""
    path = os.path.join(private_dir(t.guest), "hvtrace-gdb.sock")
    t.guest.monitor(f"gdbserver unix:{path},server=on,wait=off")
    assert os.path.exists(path)
    assert "nothing to recover" in t.hv("recover", t.name)
    assert not os.path.exists(path), path
    assert "gdb" not in [device["label"] for device in t.guest.qmp("query-chardev")]


@case(configs=(*BOTH[:1], OLDEST))
def killed_service_is_recovered(t):
    """kill -9 of the session at any moment: the guest continues, recover restores every byte."""
    seed = int(os.environ.get("HVTRACE_TEST_SEED", time.time()))
    rng = random.Random(seed)
    t.note(f"HVTRACE_TEST_SEED={seed}")
    for turn in range(4):
        t.hv("attach", t.name)
        switch = None
        if turn == 0:  # after everything was patched
            t.hv("echo", t.name, "current_tracer", "function")
        else:  # in the middle of patching
            switch = t.hv.start("echo", t.name, "current_tracer", "function")
            time.sleep(rng.uniform(0.0, 0.6))
        t.hv.kill_session(t.name)
        if switch:
            switch.communicate(timeout=HANG_SECONDS)
        assert until(lambda: t.guest.state() == "running"), f"turn {turn}: the guest stays {t.guest.state()}"
        assert t.guest.run("echo alive").strip() == "alive"
        t.recover()


@case(configs=BOTH[:1])
def a_paused_guest_stays_paused(t):
    """An administrator pauses the guest. Failing changes, the end of the session's guardian, the broker's recovery and
    `recover` must not resume it, and everything is restored afterwards."""
    t.hv("attach", t.name)
    t.hv("echo", t.name, "set_ftrace_filter", "vfs_read")
    t.hv("echo", t.name, "current_tracer", "function")
    virsh("suspend", t.name)
    try:
        t.hv.fails("echo", t.name, "current_tracer", "nop", says=["not running"])
        (guardian,) = [pid for pid in children_of(child_of(t.hv.service_of(t.name))) if comm_of(pid) == "hvtrace-guard"]
        os.kill(guardian, signal.SIGKILL)
        t.hv.fails("echo", t.name, "current_tracer", "nop", says=["not running"])
        assert t.guest.state() == "paused", t.guest.state()
        t.hv.kill_session(t.name)
        t.hv.run("recover", t.name)
        assert t.guest.state() == "paused", t.guest.state()
    finally:
        virsh("resume", t.name)
    t.hv.run("recover", t.name)
    assert t.guest.run("echo alive").strip() == "alive"


BROKER_CAPABILITIES = ("chown dac_override dac_read_search fowner kill setgid setuid sys_chroot sys_ptrace "
                       "sys_admin").split()


@case(configs=BOTH[:1], sanitized=True)
def changes_of_a_killed_service_are_restored(t):
    """kill -9 of the service alone, before and during patching: its broker restores every byte, and the next attach
    succeeds. Service and guardian have no privileges, the broker has only those it needs."""
    for delay in (0.0, 0.2, 1.5):
        t.hv("attach", t.name)
        service = t.hv.service_of(t.name)
        with open(f"/proc/{service}/status", encoding="ascii") as file:
            status = dict(line.split(":\t", 1) for line in file.read().splitlines())
        assert status["Uid"].split()[0] != "0" and int(status["CapPrm"], 16) == 0 and status["Seccomp"] == "2", status
        rights = {process["name"]: process["capabilities"] for process in t.hv.stat(t.name)["processes"]}
        assert rights["hvtrace-guard"] == "none" and rights[PARSER] == "none", rights
        assert rights["hvtrace:broker"].split() == BROKER_CAPABILITIES, rights
        switch = t.hv.start("echo", t.name, "current_tracer", "function")
        time.sleep(delay)
        os.kill(service, signal.SIGKILL)
        switch.communicate(timeout=HANG_SECONDS)
        assert until(lambda: not t.hv.run_dirs(t.name)), t.hv("list")
        assert t.guest.run("echo alive").strip() == "alive"


JOURNAL_BYTES = 64 << 10  # header and journal: more than a case uses


def overwrite_journal(path, is_over):
    """Overwrites header and journal until IS_OVER, and leaves them empty."""
    rng = random.Random(1)
    with open(path, "r+b", buffering=0) as region:
        while not is_over.is_set():
            region.seek(0)
            region.write(rng.randbytes(JOURNAL_BYTES))
        region.seek(0)
        region.write(bytes(JOURNAL_BYTES))


@case(configs=BOTH[:1])
def a_false_journal_changes_nothing(t):
    """The guest overwrites the header and the journal in the region, the service dies, and the guest continues during
    the recovery: the broker still restores every byte."""
    path = f"/dev/shm/{t.name}"
    if not os.path.exists(path):
        raise Skip("the region is not the memory of an ivshmem device")
    t.hv("attach", t.name)
    t.hv("echo", t.name, "set_ftrace_filter", "vfs_*")
    t.hv("echo", t.name, "current_tracer", "function_graph")
    is_over = threading.Event()
    guest = threading.Thread(target=overwrite_journal, args=(path, is_over))
    guest.start()
    try:
        os.kill(t.hv.service_of(t.name), signal.SIGKILL)
        assert until(lambda: not t.hv.run_dirs(t.name)), t.hv("list")
    finally:
        is_over.set()
        guest.join()


@case(configs=BOTH[:1])
def recover_works_without_the_module_list(t):
    """The guest's list of modules cannot be read: recover needs only the journal."""
    head = int(t.guest.run("grep ' modules$' /proc/kallsyms").split()[0], 16)
    memory = Memory(t.guest)
    was = memory.read_image(head, 8)
    t.hv("attach", t.name)
    t.hv("echo", t.name, "current_tracer", "function")
    t.hv.kill_session(t.name)
    memory.write_image(head, (head + 8).to_bytes(8, "little"))
    try:
        _, out, _ = t.hv.run("check", t.name)
        assert b"PREVENTS     modules" in out, out
        said = t.recover()
    finally:
        memory.write_image(head, was)
        memory.close()
    assert "sites restored and read back" in said, said


def row_of(t):
    return next(line for line in t.hv("list").splitlines() if line.startswith(t.name + " "))


@case(configs=BOTH[:1])
def every_verb_reports_remains(t):
    """kill -9 of the service: every verb reports the remains and how to remove them, before and after a refused
    attach."""
    t.hv("attach", t.name)
    t.hv("echo", t.name, "current_tracer", "function")
    assert row_of(t).endswith("attached"), row_of(t)
    t.hv.kill_session(t.name)
    advice = f"run `hvtrace recover {t.name}`"
    for _ in range(2):
        assert "no: a session died" in row_of(t) and advice in row_of(t), row_of(t)
        status, out, _ = t.hv.run("check", t.name)
        out = out.decode()
        assert status == 1 and "left behind by a session that died" in out and advice in out, out
        assert "was not found" not in out and "traceable    yes" not in out, out
        for words in (("stat", t.name), ("cat", t.name, "trace"), ("detach", t.name), ("attach", t.name),
                      ("record", "-p", "function", "--for=1s", t.name)):
            t.hv.fails(*words, says=[advice])
    said = t.recover()
    assert "ftrace_verify_code" not in said, said
    t.hv.fails("stat", t.name, says=[f"run `hvtrace attach {t.name}` first"])
    status, out, _ = t.hv.run("check", t.name)
    assert status == 0 and b"traceable    yes" in out, out


@case(configs=BOTH[:1])
def killed_guardian_is_replaced(t):
    """kill -9 of the guardian alone: the session continues, and detach restores every byte."""
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        os.kill(child_of(child_of(t.hv.service_of(t.name))), signal.SIGKILL)
        t.hv.fails("recover", t.name, says=["already attached"])
        traced.echo("set_ftrace_filter", "do_*")
        assert t.guest.state() == "running", t.guest.state()


@case(configs=BOTH[:1], sanitized=True)
def killed_parser_is_replaced(t):
    """kill -9 of the process that parses the VMM's answers: the next request starts a new one."""
    with t.attach() as traced:
        for filters in ("vfs_*", "do_*"):
            os.kill(parser_of(child_of(t.hv.service_of(t.name))), signal.SIGKILL)
            traced.echo("set_ftrace_filter", filters)
            traced.echo("current_tracer", "function")
        assert t.guest.state() == "running", t.guest.state()


@case(configs=BOTH[:1], sanitized=True)
def killed_service_and_guardian_are_recovered(t):
    """kill -9 of service and guardian during a hold, so that no process can end it: recover ends it."""
    t.hv("attach", t.name)
    service = t.hv.service_of(t.name)
    broker = child_of(service)
    guardian = child_of(broker)
    switch = t.hv.start("echo", t.name, "current_tracer", "function")
    deadline = time.monotonic() + 10
    while "paused" not in t.guest.monitor("info status") and time.monotonic() < deadline:
        pass
    for pid in (guardian, broker, service):
        os.kill(pid, signal.SIGKILL)
    switch.communicate(timeout=HANG_SECONDS)
    stands = "paused" in t.guest.monitor("info status")
    said = t.recover()
    assert stands == ("still stopped by a hold" in said), f"paused: {stands}, recover: {said}"
    assert t.guest.run("echo alive").strip() == "alive"


@case(configs=BOTH[1:], fresh=True, sanitized=True)
def rebooted_guest(t):
    """The guest reboots during a session: the service ends, and attach succeeds in spite of the old region."""
    t.hv("attach", t.name)
    t.hv("echo", t.name, "set_ftrace_filter", "vfs_*")
    t.hv("echo", t.name, "current_tracer", "function")
    t.guest.channel.send("reboot -f")
    t.guest.channel.wait_boot(BOOT_SECONDS)
    left = left_behind(t.hv)
    assert not left, left
    memory = Memory(t.guest)
    before = memory.snapshot()
    with t.attach() as traced:
        traced.echo("set_ftrace_filter", "vfs_*")
        traced.echo("current_tracer", "function")
        t.guest.run("cat /proc/uptime")
        assert ftrace.parse(traced.text("trace"))[0], "nothing traced after the reboot"
    bad, _ = memory.compare(before, memory.snapshot())
    assert not bad, f"{bad[:5]}"
    memory.close()


@case(configs=BOTH[:1], fresh=True)
def asleep_while_attached(t):
    """The guest is suspended to RAM while function_graph traces all functions: everything is restored before it wakes
    up."""
    memory = Memory(t.guest)
    before = memory.snapshot()
    t.hv("attach", "--via=monitor", t.name)
    t.hv("echo", t.name, "current_tracer", "function_graph")
    sleep = t.guest.channel.send("echo deep >/sys/power/mem_sleep; echo mem >/sys/power/state")
    assert until(lambda: t.guest.state() == "pmsuspended"), f"the guest does not sleep: {t.guest.state()}"
    assert until(lambda: not left_behind(t.hv)), left_behind(t.hv)
    assert t.guest.state() == "pmsuspended", t.guest.state()
    t.hv.fails("detach", t.name, says=["went to sleep (S3)"])
    virsh("dompmwakeup", t.name)
    # Bytes for a serial port that is not awake yet are lost, so the guest sends first.
    status, said = t.guest.channel.answer(sleep, HANG_SECONDS)
    assert status == 0, said
    t.guest.run("grep -q 0-1 /sys/devices/system/cpu/online")
    bad, _ = memory.compare(before, memory.snapshot())
    assert not bad, f"{bad[:5]}"
    memory.close()


@case(configs=HIBERNATING[1:], fresh=True, sanitized=True)
def hibernated_while_attached(t):
    """The guest hibernates while all functions are traced: everything is restored before its image is made."""
    tracer = "function_graph" if t.guest.config.suite == KERNELS[0] else "function"
    memory = Memory(t.guest)
    before = memory.snapshot()
    memory.close()
    t.guest.run("mkswap /dev/nvme0n1 && swapon /dev/nvme0n1 && echo 0 >/sys/power/image_size")
    t.hv("attach", t.name)
    t.hv("echo", t.name, "current_tracer", tracer)
    sleep = t.guest.channel.send("echo disk >/sys/power/state")
    assert until(lambda: t.guest.state() == "shut off"), f"the guest does not hibernate: {t.guest.state()}"
    t.hv.fails("detach", t.name, says=["detached, since the guest hibernates"])
    t.guest.resume()
    status, said = t.guest.channel.answer(sleep, HANG_SECONDS)
    assert status == 0, said
    t.guest.run("grep -q 0-1 /sys/devices/system/cpu/online")
    memory = Memory(t.guest)
    bad, _ = memory.compare(before, memory.snapshot())
    assert not bad, f"{bad[:5]}"
    memory.close()
    with t.attach() as traced:
        traced.echo("current_tracer", tracer)
        t.disturb()


@case(configs=BOTH[:1], fresh=True)
def destroyed_while_attached(t):
    """The domain ends while everything is traced: the service ends by itself."""
    t.hv("attach", t.name)
    t.hv("echo", t.name, "current_tracer", "function")
    reader = t.hv.start("cat", t.name, "trace_pipe")
    virsh("destroy", t.name)
    reader.communicate(timeout=HANG_SECONDS)
    left = left_behind(t.hv)
    assert not left, left


@case(configs=OWN_GUESTS, sanitized=True)
def domains_that_cannot_be_traced(t):
    """Messages for: no such domain, domain off, no ivshmem device (with the XML to add), only firmware."""
    t.hv.fails("attach", "hvtrace-no-such-domain", says=["hvtrace-no-such-domain"])
    guest = t.lab.domain(Config("bookworm", 1, shmem_mib=0))
    try:
        t.hv.fails("attach", guest.name, says=[guest.name])
        assert guest.state() == "shut off", guest.state()
        guest.start()
        t.hv.fails("attach", guest.name, says=["<shmem", "ivshmem-plain", "migration"])
        assert guest.run("echo alive").strip() == "alive"
    finally:
        t.lab.drop(guest)
    firmware = t.lab.domain(Config("bookworm", 1, boot="firmware", ram_mib=128))
    try:
        firmware.start()
        time.sleep(3)
        t.hv.fails("attach", firmware.name, says=[firmware.name])
        assert firmware.state() == "running", firmware.state()
    finally:
        t.lab.drop(firmware)


def ready(serial):
    """Returns whether the guest with its serial port in the file SERIAL has booted."""
    if not os.path.exists(serial):
        return False
    with open(serial, "rb") as file:
        return b"ready" in file.read()


@contextlib.contextmanager
def own_qemu(place, region, before=(), qmp=None):
    """Starts a guest without libvirt. PLACE is the prefix of its files, REGION the region's file. Yields its process,
    or the process of BEFORE, the words of a command that runs QEMU. QMP is its socket; default: PLACE.qmp."""
    from lib.domain import script  # pylint: disable=import-outside-toplevel

    kernel_dir = script("kernel", "bookworm")
    initrd = script("initramfs", kernel_dir)
    boot = os.path.join(kernel_dir, "boot")
    kernel = os.path.join(boot, next(f for f in os.listdir(boot) if f.startswith("vmlinuz")))
    qemu = None
    try:
        qemu = subprocess.Popen(
            [*before, "qemu-system-x86_64", "-accel", "tcg", "-cpu", "max", "-m", "512", "-display", "none",
             "-nodefaults", "-no-user-config", "-kernel", kernel, "-initrd", initrd,
             "-append", "console=ttyS0 quiet", "-serial", f"file:{place}.console", "-serial", f"file:{place}.ready",
             "-object", "memory-backend-memfd,id=ram,size=512M,share=on", "-machine", "memory-backend=ram",
             "-object", f"memory-backend-file,id=shm,mem-path={region},size=64M,share=on",
             "-device", "ivshmem-plain,memdev=shm", "-qmp", f"unix:{qmp or place + '.qmp'},server=on,wait=off"],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        assert until(lambda: ready(f"{place}.ready"), seconds=BOOT_SECONDS), "the guest did not boot"
        yield qemu
    finally:
        if qemu:
            qemu.kill()
            qemu.wait()
        for end in ("console", "ready", "qmp"):
            if os.path.exists(f"{place}.{end}"):
                os.unlink(f"{place}.{end}")


@case(configs=OWN_GUESTS)
def full_shared_memory(t):
    """The region's file system is full: one line of error, no SIGBUS, the guest continues. The region is on a separate
    tmpfs, and the guest is named by `qmp:PATH`."""
    place = f"/run/hvtrace-test/full-{os.getpid()}"
    os.makedirs(place)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", place], check=True)
    try:
        with own_qemu(place, f"{place}/region") as qemu:
            t.hv.fails("attach", f"qmp:{place}.qmp", says=["free", "64 MiB"])
            assert qemu.poll() is None, "QEMU died"
    finally:
        subprocess.run(["umount", place], check=True)
        os.rmdir(place)


LATE_SECONDS = 25  # a QMP command times out after 20


@case(configs=OWN_GUESTS)
def changes_work_after_the_vmm_was_stopped(t):
    """A VMM that was stopped until its commands timed out answers them when it continues. hvtrace must not take these
    answers for answers to later commands: each later change works. A region whose file is larger than the region is
    refused."""
    place = f"/run/hvtrace-test/stopped-{os.getpid()}"
    os.makedirs(os.path.dirname(place), exist_ok=True)
    name = f"qmp:{place}.qmp"
    try:
        with own_qemu(place, f"{place}.region") as qemu:
            t.hv("attach", name)
            t.hv("echo", name, "set_ftrace_filter", "vfs_read")
            t.hv("echo", name, "current_tracer", "function")
            os.kill(qemu.pid, signal.SIGSTOP)
            try:
                change = t.hv.start("echo", name, "current_tracer", "nop")
                time.sleep(LATE_SECONDS)
                assert change.poll() is None, change.communicate()
            finally:
                os.kill(qemu.pid, signal.SIGCONT)
            change.communicate(timeout=HANG_SECONDS)
            for tracer in ("nop", "function") * 4:
                t.hv("echo", name, "current_tracer", tracer)
                assert t.hv("cat", name, "current_tracer") == f"{tracer}\n"
            assert "no changes by hvtrace left" in t.hv("detach", name)
            # The service would also get the rest of the file, which may be another guest's.
            os.truncate(f"{place}.region", 128 << 20)
            t.hv.fails("attach", name, says=["ivshmem", "separate file"])
            assert qemu.poll() is None, "QEMU died"
    finally:
        if os.path.exists(f"{place}.region"):
            os.unlink(f"{place}.region")


@case(configs=(), further=STANDARD[1:2])
def a_stopped_vmm_of_libvirt(t):
    """libvirt waits without a limit for the answer of a VMM that is stopped. A detach ends with a line of error; it works when
    the VMM continues."""
    with t.attach():
        os.kill(t.guest.pid, signal.SIGSTOP)
        try:
            begin = time.monotonic()
            text = t.hv.fails("detach", t.name, says=[t.name, "not detached", "libvirt: the VMM's monitor"])
            assert text.count("\n") == 1, text
            t.note(f"after {time.monotonic() - begin:.1f} s: {text.strip()}")
        finally:
            os.kill(t.guest.pid, signal.SIGCONT)


@contextlib.contextmanager
def qemu_elsewhere(place, mount):
    """A QEMU in separate pid, mount and network namespaces, in which MOUNT has been executed. Its socket is qmp in the
    directory PLACE.private, which is empty in this mount namespace. Yields its pid."""
    private, shared = f"{place}.private", f"{place}.shared"
    os.makedirs(private)
    os.makedirs(shared)
    words = ("unshare", "--pid", "--fork", "--kill-child", "--mount", "--net", "sh", "-ec", f'{mount}; shift 2; exec "$@"', "sh")
    try:
        with own_qemu(place, f"{place}.region", (*words, private, shared), f"{private}/qmp") as unshare:
            (pid,) = children_of(unshare.pid)
            assert not os.listdir(private) and os.listdir(f"/proc/{pid}/root{private}") == ["qmp"]
            yield pid
            assert os.listdir(f"/proc/{pid}/root{private}") == ["qmp"] and not os.listdir(private)
            assert unshare.poll() is None, "QEMU died"
    finally:
        for path in (f"{place}.region", f"{shared}/qmp"):
            if os.path.exists(path):
                os.unlink(path)
        os.rmdir(private)
        os.rmdir(shared)


@case(configs=OWN_GUESTS)
def a_qemu_in_other_namespaces(t):
    """A QEMU in separate namespaces, with its QMP socket on a private tmpfs, is traced as pid:N. If the socket can be
    reached by a path that is another directory for the QEMU, attach refuses the path and creates no file there."""
    place = f"/run/hvtrace-test/namespaces-{os.getpid()}"
    with qemu_elsewhere(place, 'mount -t tmpfs -o mode=755 tmpfs "$1"') as pid:
        name = f"pid:{pid}"
        t.hv.fails("attach", f"qmp:{place}.private/qmp", says=["No such file"])
        t.hv("attach", name)
        t.hv("echo", name, "set_ftrace_filter", "vfs_read", "tick_*", "hrtimer_interrupt")
        t.hv("echo", name, "current_tracer", "function")
        assert until(lambda: "<-" in t.hv("cat", name, "trace")), "no events"
        assert "no changes by hvtrace left" in t.hv("detach", name)
        inside = f"qmp:/proc/{pid}/root{place}.private/qmp"
        t.hv("attach", inside)
        assert "no changes by hvtrace left" in t.hv("detach", inside)
    with qemu_elsewhere(place, 'mount --bind "$2" "$1"; mount -t tmpfs tmpfs "$2"') as pid:
        t.hv.fails("attach", f"qmp:{place}.shared/qmp", says=["mount namespace", f"pid:{pid}"])
        assert os.listdir(f"{place}.shared") == ["qmp"] and not os.listdir(f"/proc/{pid}/root{place}.shared")
        t.hv("attach", f"pid:{pid}")
        assert "no changes by hvtrace left" in t.hv("detach", f"pid:{pid}")


@case(configs=STANDARD[:1])
def the_overhead_is_limited(t):
    """With --max-overhead, the hottest functions are put back and named until the guest's load for constant work is
    below the limit. SIGTERM, which a service manager sends, detaches."""
    limit_ppm = 1000
    t.guest.run("(while :; do cat /proc/uptime; done) >/dev/null 2>&1 & echo $! >/tmp/load")
    try:
        with t.attach("--max-overhead", f"{limit_ppm / 10000}") as traced:
            traced.echo("current_tracer", "function")
            until(lambda: t.hv.stat(t.guest.name)["budget"]["not_traced"])
            until(lambda: 0 < t.hv.stat(t.guest.name)["budget"]["load_ppm"] <= limit_ppm)
            stat = t.hv.stat(t.guest.name)
            names = re.split(", | and ", stat["budget"]["not_traced"])
            assert stat["sites"]["patched"] < stat["sites"]["traceable"], stat["sites"]
            enabled = traced.text("enabled_functions")
            assert names[0] and not re.search(rf"^{re.escape(names[0])} ", enabled, re.M), names
            assert f"\n# not traced, to limit the overhead: {names[0]}" in traced.text("trace")
            os.kill(stat["service_pid"], signal.SIGTERM)
            until(lambda: not t.hv.run_dirs(t.guest.name))
            t.hv("attach", t.guest.name)
            assert t.hv.stat(t.guest.name)["sites"]["patched"] == 0
            t.note(f"{stat['budget']['load_ppm'] / 10000} % after {stat['budget']['not_traced']} were put back")
    finally:
        t.guest.run("kill $(cat /tmp/load)")
