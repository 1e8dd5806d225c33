# SPDX-License-Identifier: GPL-2.0-or-later
"""Injection: guests without a prepared definition, machines that must not be moved during a session, and refusals.
Every case on a booted guest ends with the proof of lib/suite.py."""

import contextlib
import ctypes
import glob
import json
import os
import signal
import socket
import struct
import subprocess
import tempfile
import time

from lib import ftrace, qmp, tool
from lib.channel import Channel
from lib.daemons import virsh
from lib.domain import RUN, Config, script
from lib.memory import Memory
from lib.suite import OWN_GUESTS, bad_dmesg, case
from lib.wait import HANG_SECONDS, until

BARE = Config("bookworm", 2, shmem_mib=0, shared_ram=False)
BARE_NEW = Config("trixie", 2, shmem_mib=0, shared_ram=False)
ROUNDS = 200
PIN = "hvtrace-attached"
SANDBOX = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny"


def trace_workload(traced, guest):
    """Traces vfs_* during one workload with one mkdir per round. Returns the number of events."""
    text, pid = ftrace.hvtrace_trace(traced, guest, ("syscalls", str(ROUNDS)), ("vfs_*",))
    events, lost = ftrace.parse(text)
    calls = [function for function, _ in ftrace.calls(events, pid)]
    assert lost == 0 and calls.count("vfs_mkdir") >= ROUNDS, f"{lost} lost, {calls.count('vfs_mkdir')} of vfs_mkdir"
    return len(events)


@case(configs=(BARE, BARE_NEW))
def unprepared_domain(t):
    """Two attaches, without options, to a libvirt domain with private RAM and without hvtrace's device."""
    said = json.loads(t.hv("check", "--json", t.name))
    assert said["traceable"] and "injected calls (libvirt), RAM copied" in said["transport"], said
    assert "ivshmem" not in t.hv("list"), "list gives a reason against tracing"
    for _ in range(2):
        with t.attach() as traced:
            nr = trace_workload(traced, t.guest)
            holds = traced.stat()["holds"]
        t.note(f"{nr} events; {holds['count']} holds, longest {holds['max_ns'] / 1e6:.2f} ms")
    links = [os.readlink(link) for link in glob.glob(f"/proc/{t.guest.pid}/fd/*")]
    regions = [link for link in links if "hvtrace-region" in link]
    assert len(regions) == 1, f"the second attach did not find the first one's memory: {regions}"


def save(t, path):
    """Saves the domain. Returns libvirt's message if that fails, or None."""
    try:
        virsh("save", t.name, path)
    except Exception as error:  # noqa: BLE001 - lib/daemons.py can raise any
        return str(error)
    return None


@case(configs=(BARE,), fresh=True)
def moves_only_when_detached(t):
    """While all functions are traced, QEMU neither migrates nor saves the guest, not even after a kill of hvtrace.
    After recover the guest can be saved, and continues elsewhere with its original text."""
    path = f"{t.guest.dir}/saved"
    memory = Memory(t.guest)
    before = memory.snapshot()
    t.guest.run("dmesg -c >/dev/null")
    memory.close()
    with t.attach() as traced:
        traced.echo("current_tracer", "function")
        assert PIN in (save(t, path) or "it was saved"), "save was not refused because of hvtrace"
        said = virsh("qemu-monitor-command", t.name, json.dumps({"execute": "query-migrate"}))
        assert PIN in said, said
        traced.kill()
        assert PIN in (save(t, path) or "it was saved"), "save was not refused after hvtrace was killed"
        t.recover()
        reason = save(t, path)
        assert reason is None, f"not saved after recover: {reason}"
        virsh("restore", path)
        t.guest.pid = t.guest._pid()  # noqa: SLF001
        t.guest.reopen_channel()
        t.hv("attach", t.name)
    memory = Memory(t.guest)
    bad, own = memory.compare(before, memory.snapshot())
    memory.close()
    assert not bad, bad[:4]
    assert t.guest.run("echo alive").strip() == "alive"
    assert not bad_dmesg(t.guest.run("dmesg")), bad_dmesg(t.guest.run("dmesg"))[:3]
    t.note(f"{len(own)} differences of the guest's own")


LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP = 22, 38, 24
CAP_SYS_PTRACE = 19
PTRACE_SEIZE = 0x4206


def prctl(*words):
    if LIBC.prctl(*(ctypes.c_ulong(word) for word in words)) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {words[0]}")


def filtered(*instructions):
    """Installs a seccomp filter, as a program other than QEMU may have."""
    program = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *one) for one in instructions))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(instructions), ctypes.addressof(program)))
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    prctl(PR_SET_SECCOMP, 2, ctypes.addressof(header), 0, 0)


ALLOW, EPERM = (0x06, 0, 0, 0x7FFF0000), (0x06, 0, 0, 0x50001)
LOAD, EQUAL, MEMFD_CREATE = 0x20, 0x15, 319


def allow_everything():
    filtered(ALLOW)


def no_memory_files():
    """Makes memfd_create fail with the flags that hvtrace uses. QEMU itself tries these flags when it starts."""
    filtered((LOAD, 0, 0, 0), (EQUAL, 0, 3, MEMFD_CREATE), (LOAD, 0, 0, 24), (EQUAL, 0, 1, 3), EPERM, ALLOW)


@contextlib.contextmanager
def machine(*words, before=None):
    """Starts a QEMU without libvirt and without anything to boot, so its firmware runs. Yields the paths of two QMP
    sockets."""
    paths = [f"{RUN}/machine-{os.getpid()}-{n}" for n in range(2)]
    command = ["qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-m", "64", "-display", "none", "-nodefaults",
               "-no-user-config", *words]  # fmt: skip
    for path in paths:
        command += ["-qmp", f"unix:{path},server=on,wait=off"]
    qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            preexec_fn=before)  # noqa: PLW1509
    try:
        deadline = time.monotonic() + 20
        while not all(map(os.path.exists, paths)) and qemu.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        assert qemu.poll() is None, f"QEMU: {qemu.stderr.read()}"
        yield paths
    finally:
        qemu.kill()
        qemu.wait()
        for path in paths:
            with contextlib.suppress(OSError):
                os.unlink(path)


RAM = {
    "hugetlbfs": ["-m", "384", "-mem-path", "/dev/hugepages", "-mem-prealloc"],
    "huge memfd, shared": ["-m", "384", "-machine", "memory-backend=ram",
        "-object", "memory-backend-memfd,id=ram,size=384M,hugetlb=on,hugetlbsize=2M,share=on,prealloc=on"],
    "three ranges": ["-m", "384", "-machine", "max-ram-below-4g=256M",
        "-object", "memory-backend-memfd,id=one,size=128M,share=on", "-numa", "node,memdev=one,cpus=0",
        "-object", "memory-backend-ram,id=two,size=256M", "-numa", "node,memdev=two,cpus=1"],
}  # fmt: skip


@case(configs=OWN_GUESTS)
def kinds_of_ram(t):
    """QEMU without libvirt, with its sandbox on: private and shared huge pages (2 MiB), and two NUMA nodes: one shared,
    the other private and partly above 4 GiB."""
    os.makedirs("/dev/hugepages", exist_ok=True)
    subprocess.run(["mount", "-t", "hugetlbfs", "none", "/dev/hugepages"], check=False)
    with open("/proc/sys/vm/nr_hugepages", "w", encoding="ascii") as file:
        file.write("192\n")
    with open("/proc/sys/vm/nr_hugepages", encoding="ascii") as file:
        nr = int(file.read())
    kernel = script("kernel", "bookworm")
    initrd = script("initramfs", kernel)
    channel_path = f"{RUN}/channel-{os.getpid()}"
    for name, words in RAM.items():
        if "huge" in name and nr < 192:
            t.note(f"{name}: skipped, only {nr} huge pages")
            continue
        words = [*words, "-smp", "2", "-kernel", glob.glob(f"{kernel}/boot/vmlinu[xz]*")[0], "-initrd", initrd,
                 "-append", "console=ttyS0 quiet panic=1", "-no-reboot", "-serial", "null",
                 "-serial", f"unix:{channel_path},server=on,wait=off", "-sandbox", SANDBOX]  # fmt: skip
        with machine(*words) as (path, _):
            while not os.path.exists(channel_path):
                time.sleep(0.1)
            guest = Channel(channel_path)
            guest.wait_boot(90)
            domain = f"qmp:{path}"
            said = json.loads(t.hv("check", "--json", domain))
            with tool.Traced(t.hv, domain) as traced:
                traced.echo("set_ftrace_filter", "vfs_*")
                traced.echo("current_tracer", "function")
                guest.run("ls / >/dev/null; cat /proc/uptime")
                text = traced.text("trace")
            assert "vfs_read <-" in text and "vfs_open <-" in text, text[-500:]
            status, dmesg = guest.run("dmesg")
            assert status == 0 and b"unable to handle" not in dmesg and b"Oops" not in dmesg
            guest.close()
        os.unlink(channel_path)
        t.note(f"{name}: {said['transport']}, {text.count('vfs_')} events")


@contextlib.contextmanager
def debugger(pid):
    ready, wake = os.pipe()
    child = os.fork()
    if child == 0:
        LIBC.ptrace(PTRACE_SEIZE, pid, 0, 0)
        os.write(wake, b"x")
        time.sleep(60)
        os._exit(0)
    os.read(ready, 1)
    try:
        yield
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(wake)


@contextlib.contextmanager
def disk_of_another_process():
    """Yields QEMU's options for a disk whose server, another process, maps the machine's RAM."""
    path, file = f"{RUN}/disk-{os.getpid()}", tempfile.NamedTemporaryFile()
    file.truncate(1 << 20)
    server = subprocess.Popen(["qemu-storage-daemon", "--blockdev", f"file,node-name=disk,filename={file.name}", "--export",
                               f"vhost-user-blk,id=disk,node-name=disk,addr.type=unix,addr.path={path}"])  # fmt: skip
    try:
        deadline = time.monotonic() + 20
        while not os.path.exists(path) and time.monotonic() < deadline:
            time.sleep(0.1)
        yield ["-object", "memory-backend-memfd,id=ram,size=64M,share=on", "-machine", "memory-backend=ram",
               "-chardev", f"socket,id=disk,path={path}", "-device", "vhost-user-blk-pci,chardev=disk"]  # fmt: skip
    finally:
        server.kill()
        server.wait()
        file.close()
        with contextlib.suppress(OSError):
            os.unlink(path)


def without_ptrace(t, *words):
    """Returns the output of hvtrace without the right to ptrace."""
    done = subprocess.run([t.hv.path, *words], capture_output=True, text=True, env=t.hv.env, check=False,
                          preexec_fn=lambda: prctl(PR_CAPBSET_DROP, CAP_SYS_PTRACE, 0, 0, 0))  # noqa: PLW1509
    return done.stderr


@case(configs=(BARE,))
def refused_with_its_reason(t):
    """One line for each reason: a debugger on the VMM, no right to ptrace, a seccomp filter that does not allow a call
    (the monitor is used only on request), a machine that must stay migratable, copies of text with a vhost-user device,
    a migration in progress."""
    with debugger(t.guest.pid):
        t.hv.fails("attach", t.name, says=("a debugger is attached to the VMM",))
    said = without_ptrace(t, "attach", t.name)
    assert "ptrace" in said and len(said.splitlines()) == 1, said
    with machine(before=allow_everything) as (path, _):
        said = t.hv.fails("attach", f"qmp:{path}", says=(path,))
        assert "injection" not in said, said
        t.hv.fails("attach", "--patch=shadow", f"qmp:{path}", says=("--patch=shadow", "calls that replace pages"))
    with machine(before=no_memory_files) as (path, _):
        t.hv.fails("attach", f"qmp:{path}", says=("injection is not possible", "seccomp filter 1 of 1 of thread",
                                                  "answers memfd_create with errno", "--via=monitor"))  # fmt: skip
        t.hv.fails("check", f"qmp:{path}", says=("injection is not possible",))
    ivshmem = ("-object", f"memory-backend-file,id=ring,size=64M,share=on,mem-path={RUN}/ring", "-device",
               "ivshmem-plain,memdev=ring")  # fmt: skip
    with machine(*ivshmem, before=no_memory_files) as (path, _):
        t.hv.fails("attach", f"qmp:{path}", says=("injection is not possible", "seccomp filter"))
        said = t.hv.fails("attach", "--via=monitor", f"qmp:{path}", says=(path,))
        assert "injection" not in said, said
    os.unlink(f"{RUN}/ring")
    with machine("-only-migratable") as (path, _):
        t.hv.fails("attach", f"qmp:{path}", says=("-only-migratable",))
    with disk_of_another_process() as words, machine(*words) as (path, _):
        t.hv.fails("attach", "--patch=shadow", f"qmp:{path}", says=("--patch=shadow", "vhost-user", "without the VMM's mappings"))
    with machine() as (path, other), socket.socket(socket.AF_UNIX) as sink:
        sink.bind(f"{RUN}/sink-{os.getpid()}")
        sink.listen()
        qmp.ask(other, ("migrate-set-parameters", {"max-bandwidth": 4096}), ("migrate", {"uri": f"unix:{RUN}/sink-{os.getpid()}"}))
        try:
            t.hv.fails("attach", f"qmp:{path}", says=("a migration is under way",))
        finally:
            os.unlink(f"{RUN}/sink-{os.getpid()}")
    with t.attach() as traced:
        t.note(f"{traced.stat()['transport']}: attached when nothing forbids it")


@case(configs=(BARE,))
def killed_while_attaching(t):
    """kill -9 of service and keeper at many moments of an attach: the guest continues, recover and attach succeed."""
    start = time.monotonic()
    with t.attach():
        took = time.monotonic() - start
    for n in range(5):
        attach = t.hv.start("attach", t.name)
        time.sleep(took * n / 5)
        for pid, _words in t.hv.processes(t.name):
            if pid != attach.pid:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        attach.communicate(timeout=HANG_SECONDS)
        assert t.guest.run("echo alive").strip() == "alive"
        if t.hv.run("stat", t.name)[0] == 0:
            t.hv("detach", t.name)
        else:
            assert until(lambda: not t.hv.processes(t.name)), f"kill {n}: {t.hv.processes(t.name)}"
            t.recover()
        reason = json.loads(virsh("qemu-monitor-command", t.name, json.dumps({"execute": "query-migrate"})))["return"]
        assert "blocked-reasons" not in reason, f"kill {n}: still pinned after recover: {reason}"
    with t.attach() as traced:
        t.note(f"attach takes {took:.1f} s; {trace_workload(traced, t.guest)} events afterwards")


@case(configs=(BARE,), fresh=True)
def vmm_killed_while_traced(t):
    """QEMU is killed while all functions are traced: the session ends, and leaves nothing."""
    t.hv("attach", t.name)
    t.hv("echo", t.name, "current_tracer", "function")
    os.kill(t.guest.pid, signal.SIGKILL)
    assert until(lambda: not t.hv.processes(t.name)), "the service is still running"
    t.hv.fails("stat", t.name)


SHARED = Config("bookworm", 2, shmem_mib=0)
SCHEDSTATS = "/proc/sys/kernel/sched_schedstats"


def mappings(t, word):
    with open(f"/proc/{t.guest.pid}/maps", encoding="utf-8") as file:
        return sum(word in line for line in file)


@case(configs=(SHARED,))
def shadow_pages(t):
    """Text is changed in copies of its pages: events arrive, the guest's own changes of its text are kept, and the RAM
    is one mapping again afterwards. The test repeats this after kill -9 and recover, and after kill -9 of the
    service alone."""
    whole = mappings(t, "memfd:")
    for killed in ("nothing", "session", "service"):
        with t.attach("--patch=shadow") as traced:
            traced.echo("set_ftrace_filter", "vfs_*", "do_sys_open*")
            traced.echo("current_tracer", "function")
            assert mappings(t, "hvtrace-shadow") > 0, "no page is a copy"
            t.guest.run(f"cat /proc/uptime; echo 1 >{SCHEDSTATS}")
            assert "vfs_read <-" in traced.text("trace")
            if killed == "session":
                traced.kill()
                said = t.recover()
                assert "sites restored" in said, said
            elif killed == "service":
                os.kill(t.hv.service_of(t.name), signal.SIGKILL)
                assert until(lambda: not t.hv.run_dirs(t.name)), t.hv("list")
            if killed != "nothing":
                assert mappings(t, "hvtrace-shadow") == 0, "copies are left after recover"
                t.hv("attach", t.name)
            else:
                t.note(f"{mappings(t, 'hvtrace-shadow')} mappings of copies, {traced.stat()['sites']['patched']} sites")
        assert mappings(t, "hvtrace-shadow") == 0, "copies are left"
        assert mappings(t, "memfd:") <= whole + 2, f"{whole} mappings have become {mappings(t, 'memfd:')}"
        memory = Memory(t.guest)
        on = memory.snapshot()["text"]
        t.guest.run(f"echo 0 >{SCHEDSTATS}")
        off = memory.snapshot()["text"]
        memory.close()
        assert on != off, "the guest's own change of its text is lost"
    with t.attach("--patch=shadow") as traced:
        traced.echo("current_tracer", "function")
        t.guest.run("ls / >/dev/null")
        stat = traced.stat()
        t.note(f"all: {mappings(t, 'hvtrace-shadow')} mappings, {stat['holds']}")


@case(configs=(BARE,))
def no_shadow_for_private_ram(t):
    """The request is refused with the reason."""
    t.hv.fails("attach", "--patch=shadow", t.name, says=("--patch=shadow", "private"))
