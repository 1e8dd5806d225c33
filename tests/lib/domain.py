# SPDX-License-Identifier: GPL-2.0-or-later
"""Test guests as libvirt domains: Debian's own kernels, unmodified, with direct kernel boot.

Lab.close() removes everything made here (domain, run directory, shared memory). It also runs at exit and on SIGINT,
SIGTERM and SIGHUP. The next run removes the leftovers of a killed run. channel.py runs commands in the guest,
memory.py reads its memory from outside."""

import atexit
import dataclasses
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from xml.sax.saxutils import escape

from . import channel, image, tsc
from .daemons import Daemons, virsh

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RUN = "/run/hvtrace-test"
PREFIX = "hvtrace-test-"
BOOT_SECONDS = 240
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# libvirt starts this script instead of QEMU if TCG must execute vCPUs in turn, or if the guest's clock must count
# instructions, because libvirt has no setting for either. It is not in /run, which may be mounted noexec.
EMULATOR = "/usr/bin/qemu-system-x86_64"
ARM64_EMULATOR = "/usr/bin/qemu-system-aarch64"
RISCV64_EMULATOR = "/usr/bin/qemu-system-riscv64"
IN_TURN = {"amd64": "/var/lib/hvtrace-test/qemu-in-turn", "arm64": "/var/lib/hvtrace-test/qemu-in-turn-arm64"}
COUNTED = {arch: f"/var/lib/hvtrace-test/qemu-counted-{arch}" for arch in ("amd64", "arm64", "riscv64")}
SCRIPT = """#!/bin/bash
# Made by hvtrace's tests: QEMU whose TCG has one thread for all vCPUs.
args=("$@")
for i in "${!args[@]}"; do
	[ "${args[i]}" = -accel ] && [ "${args[i + 1]}" = tcg ] || continue
	args[i + 1]=tcg,thread=single
	args+=(%s)
done
exec %s "${args[@]}"
"""
# On a busy or paused machine a guest did not execute for up to 39 s. By default a kernel reports a lockup after 20 s
# and an RCU stall after 21 s; in these guests it waits for two minutes. no_timer_check: the timer may also tick too
# late for the check at boot.
PATIENCE = "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=120 no_timer_check"


@dataclasses.dataclass(frozen=True)
class Machine:
    """Differences between architectures in libvirt's description of a domain."""

    type: str  # attributes of <type>
    features: str
    cpu: str  # under TCG
    console: str
    channel: str  # the target of the channel's serial port
    emulator: str


MACHINES = {
    # QEMU 7.2's TCG leaves garbage in EFLAGS after a cmpxchg16b without lock, and an interrupt right after it saves
    # them: kernels whose SLUB uses the instruction (6.12) oops.
    "amd64": Machine(
        "arch='x86_64' machine='pc'",
        "<features><acpi/></features>",
        "<cpu mode='maximum'><feature policy='disable' name='cx16'/></cpu>",
        "ttyS0",
        "<target port='1'/>",
        EMULATOR,
    ),
    "arm64": Machine(
        "arch='aarch64' machine='virt'",
        "<features><gic version='3'/></features>",
        "<cpu mode='custom'><model>max</model></cpu>",
        "ttyAMA0",
        "<target type='pci-serial' port='1'/>",
        ARM64_EMULATOR,
    ),
    "riscv64": Machine(
        "arch='riscv64' machine='virt'",
        "",
        "",
        "ttyS0",
        "<target type='pci-serial' port='1'/>",
        RISCV64_EMULATOR,
    ),
}
SCRIPTS = {path: SCRIPT % ("", MACHINES[arch].emulator) for arch, path in IN_TURN.items()}
SCRIPTS.update({path: SCRIPT % ("-icount shift=0,sleep=off", MACHINES[arch].emulator) for arch, path in COUNTED.items()})


@dataclasses.dataclass(frozen=True)
class Config:
    """The configuration of a guest. One booted guest serves all cases with its configuration."""

    # Debian's suite of the kernel; "SUITE:META-PACKAGE" for another kernel of it, "built:NAME" for one that
    # scripts/kernel-build made, "image:DIGEST" for one of image.py
    suite: str = "bookworm"
    vcpus: int = 2
    shmem_mib: int = 64  # 0: no ivshmem device
    ram_mib: int = 512
    shared_ram: bool = True
    cmdline: str = ""
    boot: str = "kernel"  # "firmware": only SeaBIOS, with nothing to boot
    in_turn: bool = False  # TCG executes one vCPU at a time
    counted: bool = False  # one vCPU at a time, and an instruction takes a nanosecond of the guest's time
    modules: tuple = ("dummy",)  # in the initramfs, with their dependencies
    arch: str = "amd64"  # Debian's name; others: on the machine virt, always under TCG
    in_el2: bool = False  # arm64: the kernel is started in EL2, where it stays if it has VHE
    qarma: bool = False  # arm64: the CPU signs with QARMA5; with QEMU's hash, the default, the guest is twice as fast
    agent_port: bool = False  # /dev/vport0p1; its host end is the socket DIR/agent
    btf: bool = True  # False: the header of the kernel's BTF is overwritten in the guest's memory after the boot
    disk_mib: int = 0  # an empty disk, /dev/nvme0n1: the driver is built in

    def title(self):
        words = [self.suite, f"{self.vcpus} vcpu" + (" in turn" if self.in_turn else "")]
        if self.counted:
            words.append("instructions counted")
        if self.shmem_mib != 64:
            words.append(f"ivshmem {self.shmem_mib} MiB" if self.shmem_mib else "no ivshmem")
        if not self.shared_ram:
            words.append("private RAM")
        if self.cmdline:
            words.append(self.cmdline)
        if self.boot != "kernel":
            words.append(self.boot)
        if len(self.modules) > 1:
            words.append(f"{len(self.modules)} modules")
        if self.in_el2:
            words.append("in EL2")
        if self.qarma:
            words.append("QARMA5")
        if self.agent_port:
            words.append("a port of the agent")
        if not self.btf:
            words.append("no BTF")
        if self.disk_mib:
            words.append(f"disk {self.disk_mib} MiB")
        if self.arch != "amd64":
            words.append(self.arch)
        return ", ".join(words)


def script(name, *words):
    """Returns the last line that a script of scripts/ prints. Its messages go to stderr."""
    done = subprocess.run(
        [os.path.join(SOURCE, "scripts", name), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout.strip().splitlines()[-1]


def built_kernel(suite):
    """Returns the directory of the kernel "built:NAME", or None if it was not built."""
    words = [os.path.join(SOURCE, "scripts", "kernel-build"), "--find", suite.removeprefix("built:")]
    return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False).stdout.strip()


def find_kernel(config):
    """Returns the directory of CONFIG's kernel. Downloads it if needed."""
    if config.suite.startswith(image.PREFIX):
        return image.directory(config.suite)
    built = config.suite.startswith("built:") and built_kernel(config.suite)
    return built or script("kernel", f"--arch={config.arch}", *config.suite.split(":"))


def kvm_runs_linux(kernel, initrd):
    """Returns whether /dev/kvm boots Linux here within 20 s. Tries it because the device file alone proves nothing."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return False
    log = os.path.join(RUN, f"kvm-{os.getpid()}.log")
    command = ["qemu-system-x86_64", "-accel", "kvm", "-cpu", "host", "-m", "512", "-display", "none",
               "-nodefaults", "-no-user-config", "-kernel", kernel, "-initrd", initrd,
               "-append", "console=ttyS0 quiet panic=-1", "-serial", "null",
               "-serial", f"file:{log}"]  # fmt: skip
    try:
        qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    except OSError:
        return False
    try:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and qemu.poll() is None:
            time.sleep(0.2)
            try:
                with open(log, "rb") as file:
                    if b"ready" in file.read():
                        return True
            except OSError:
                pass
        return False
    finally:
        qemu.kill()
        qemu.wait()
        if os.path.exists(log):
            os.unlink(log)


def write_emulator(path):
    """Writes the script. It is not removed because libvirt takes seconds to probe a new emulator."""
    try:
        with open(path, encoding="ascii") as file:
            if file.read() == SCRIPTS[path]:
                return
    except OSError:
        pass
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    new = f"{path}.{os.getpid()}"
    with open(new, "w", encoding="ascii") as file:
        file.write(SCRIPTS[path])
    os.chmod(new, 0o755)
    os.rename(new, path)  # another process may be starting it


class Domain:
    """One libvirt domain. Made by Lab.domain()."""

    def __init__(self, lab, name, config):
        self.lab = lab
        self.name = name
        self.config = config
        self.kernel_dir = find_kernel(config)
        self.initrd = script("initramfs", f"--arch={config.arch}", self.kernel_dir, *config.modules)
        boot = os.path.join(self.kernel_dir, "boot")
        # Debian names the riscv64 kernel of trixie vmlinux.
        self.kernel = os.path.join(boot, next(f for f in os.listdir(boot) if f.startswith(("vmlinuz", "vmlinux"))))
        self.dir = os.path.join(RUN, name)
        self.channel = None

    def xml(self, domain_type):
        c = self.config
        # Use copies because QEMU's user can read neither a home directory nor a cache below it.
        boot = ""
        if c.boot == "kernel":
            boot = (
                f"<kernel>{escape(self.dir)}/kernel</kernel><initrd>{escape(self.dir)}/initrd</initrd>"
                f"<cmdline>console={MACHINES[c.arch].console} quiet {PATIENCE}{self._tsc(domain_type)} {escape(c.cmdline)}</cmdline>"
            )
        backing = ""
        if c.shared_ram:
            backing = "<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"
        shmem = ""
        if c.shmem_mib:
            shmem = (
                f"<shmem name='{self.name}'><model type='ivshmem-plain'/>"
                f"<size unit='M'>{c.shmem_mib}</size></shmem>"
            )
        cpu = (
            "<cpu mode='host-passthrough'/>"
            if domain_type == "kvm"
            else MACHINES[c.arch].cpu
        )
        emulator = self.emulator() if domain_type == "qemu" else EMULATOR
        words = ()
        if c.disk_mib:
            words += ("-drive", f"if=none,id=disk,format=raw,file={self.dir}/disk", "-device", "nvme,drive=disk,serial=1,addr=0x10")
        # libvirt has no settings for these two.
        if c.in_el2:
            words += ("-machine", "virtualization=on")
        if c.arch == "arm64" and not c.qarma:
            words += ("-global", "max-arm-cpu.pauth-impdef=on")
        commandline = "<qemu:commandline>" + "".join(f"<qemu:arg value='{w}'/>" for w in words) + "</qemu:commandline>" if words else ""
        port = ""
        if c.agent_port:
            port = f"<channel type='unix'><source mode='bind' path='{self.dir}/agent'/><target type='virtio' name='hvtrace.agent'/></channel>"
        return f"""<domain type='{domain_type}' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
  <name>{self.name}</name>
  <memory unit='MiB'>{c.ram_mib}</memory>{backing}
  <vcpu>{c.vcpus}</vcpu>
  <os><type {MACHINES[c.arch].type}>hvm</type>{boot}</os>
  {MACHINES[c.arch].features}
  {cpu}
  <on_reboot>restart</on_reboot>
  <on_crash>preserve</on_crash>
  <devices>
    <emulator>{emulator}</emulator>
    <controller type='usb' model='none'/>
    <serial type='file'><source path='{self.dir}/console.log'/><target port='0'/></serial>
    <serial type='unix'><source mode='bind' path='{self.dir}/channel'/>{MACHINES[c.arch].channel}</serial>
    {shmem}
    {port}
    <memballoon model='none'/>
  </devices>
  {commandline}
</domain>
"""

    def _tsc(self, domain_type):
        """Returns kernel parameters for a guest under TCG. They give the frequency of the TSC, and keep the clocksource
        watchdog from checking it, because a busy host delays one of the watchdog's two readings. KVM reports the
        frequency, and with counted instructions nothing disturbs the guest's measurements."""
        known = domain_type == "qemu" and self.config.arch == "amd64" and not self.config.counted
        return f" tsc_early_khz={tsc.khz()} tsc=nowatchdog" if known and tsc.khz() else ""

    def emulator(self):
        if self.config.counted:
            return COUNTED[self.config.arch]
        if self.config.in_turn:
            return IN_TURN[self.config.arch]
        return MACHINES[self.config.arch].emulator

    def define(self):
        os.makedirs(self.dir, mode=0o755, exist_ok=True)
        shutil.copyfile(self.kernel, f"{self.dir}/kernel")
        shutil.copyfile(self.initrd, f"{self.dir}/initrd")
        if self.config.disk_mib:
            with open(f"{self.dir}/disk", "wb") as file:
                file.truncate(self.config.disk_mib << 20)
            os.chmod(f"{self.dir}/disk", 0o666)
        with open(f"{self.dir}/domain.xml", "w", encoding="utf-8") as file:
            file.write(self.xml("kvm" if self.lab.kvm(self) else "qemu"))
        if self.emulator() in SCRIPTS:
            write_emulator(self.emulator())
        virsh("define", f"{self.dir}/domain.xml")

    def start(self, timeout=BOOT_SECONDS):
        """Starts the domain. If it boots a kernel, waits until it accepts commands."""
        virsh("start", self.name)
        self.pid = self._pid()
        if self.config.boot == "kernel":
            self.open_channel(timeout)

    def open_channel(self, timeout=BOOT_SECONDS):
        self._connect()
        self.channel.wait_boot(timeout)

    def resume(self):
        """Starts a domain whose kernel resumes from a hibernation image. Such a kernel does not send "ready"."""
        virsh("start", self.name)
        self.pid = self._pid()
        self._connect()

    def reopen_channel(self, timeout=BOOT_SECONDS):
        """Connects to a guest that has booted before, such as one that another QEMU has restored."""
        self._connect()
        self.channel.wait_ready(timeout)

    def _connect(self):
        if self.channel is not None:
            self.channel.close()
        self.channel = channel.Channel(f"{self.dir}/channel")
        before = len(self.console())
        self.channel.look = lambda: self._look(before)

    def _look(self, before):
        """Returns the message of a panic on the console after BEFORE, or None. Also wakes QEMU's main loop by a monitor
        request: if the socket was not read for a while, the serial port waits until it can write again, but the vCPU
        thread that requests this does not wake the main loop (serial_xmit(), in QEMU 7.2)."""
        virsh("qemu-monitor-command", "--hmp", self.name, "info version", check=False)
        match = re.search(r"Kernel panic[^\n]*|end Kernel panic", self.console()[before:])
        return match and match[0].strip()

    def _pid(self):
        with open(f"/run/libvirt/qemu/{self.name}.pid", encoding="ascii") as file:
            return int(file.read())

    def run(self, command, timeout=channel.RUN_SECONDS):
        """Returns the output (text) of a shell command in the guest. Raises Failed if its status is not 0."""
        status, output = self.channel.run(command, timeout)
        text = output.decode(errors="replace")
        if status != 0:
            raise channel.Failed(f"in the guest: {command}: status {status}: {text.strip()[-500:]}")
        return text

    def run_own(self, command, timeout=channel.RUN_SECONDS):
        """Like run(), for commands that switch the guest's own tracers or probes, so that the guest patches itself."""
        c = self.config
        assert c.in_turn or c.vcpus == 1 or self.lab.kvm(self), f"{c} may hang when it patches itself: docs/internals/testing.md"
        return self.run(command, timeout)

    def run_bytes(self, command, timeout=channel.RUN_SECONDS):
        status, output = self.channel.run(command, timeout)
        if status != 0:
            raise channel.Failed(f"in the guest: {command}: status {status}")
        return output

    def monitor(self, command):
        return virsh("qemu-monitor-command", "--hmp", self.name, command)

    def qmp(self, command, **arguments):
        words = json.dumps({"execute": command, "arguments": arguments})
        return json.loads(virsh("qemu-monitor-command", self.name, words))["return"]

    def state(self):
        return virsh("domstate", self.name, check=False).strip()

    def console(self):
        try:
            with open(f"{self.dir}/console.log", encoding="utf-8", errors="replace") as file:
                return file.read()
        except OSError:
            return ""

    def stop(self):
        if self.channel is not None:
            self.channel.close()
            self.channel = None
        virsh("destroy", self.name, check=False)

    def remove(self):
        self.stop()
        virsh("undefine", self.name, check=False)
        remove_files(self.name)


def remove_files(name):
    shutil.rmtree(os.path.join(RUN, name), ignore_errors=True)
    try:
        os.unlink(f"/dev/shm/{name}")
    except OSError:
        pass


class Lab:
    """Owner of all domains of one run."""

    def __init__(self, say=lambda text: None):
        self.say = say
        self.daemons = Daemons()
        self.domains = []
        self.kvm_works = None
        self.count = 0
        self.is_open = False  # a lane (lanes.py) uses the daemons of its parent
        atexit.register(self.close)
        self.is_interrupted = False
        for number in SIGNALS:
            signal.signal(number, self._interrupted)

    def _interrupted(self, number, _frame):
        if self.is_interrupted:  # a second signal arrived first
            return
        self.is_interrupted = True
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # cleanup and its programs must not be interrupted
        sys.stderr.write(f"\ninterrupted by {signal.Signals(number).name}: cleaning up\n")
        sys.exit(128 + number)

    def open(self):
        self.is_open = True
        os.makedirs(RUN, mode=0o755, exist_ok=True)
        self.daemons.start()
        self.remove_orphans()

    def remove_orphans(self):
        """Removes the leftovers of processes that no longer exist."""
        names = set(virsh("list", "--all", "--name").split()) | set(os.listdir(RUN))
        for name in names:
            match = re.fullmatch(PREFIX + r"(\d+)-\d+", name)
            if match and not os.path.exists(f"/proc/{match[1]}"):
                self.remove_stale(name)

    def remove_stale(self, name):
        """Removes a domain of that name left by an earlier run that was killed."""
        virsh("destroy", name, check=False)
        virsh("undefine", name, check=False)
        remove_files(name)

    def kvm(self, domain):
        if domain.config.arch != "amd64":
            return False
        if self.kvm_works is None:
            wish = os.environ.get("HVTRACE_TEST_ACCEL", "auto")
            self.kvm_works = wish == "kvm" or (wish == "auto" and kvm_runs_linux(domain.kernel, domain.initrd))
            self.say("guests run under " + ("KVM" if self.kvm_works else "TCG (/dev/kvm does not run Linux here)"))
        return self.kvm_works

    def ask_for_kvm(self, config):
        """Finds out whether guests with CONFIG run under KVM."""
        self.kvm(Domain(self, "", config))

    def domain(self, config, name=None):
        """Defines a domain, but does not start it."""
        self.count += 1
        domain = Domain(self, name or f"{PREFIX}{os.getpid()}-{self.count}", config)
        self.domains.append(domain)
        domain.define()
        return domain

    def drop(self, domain):
        domain.remove()
        self.domains.remove(domain)

    def close(self):
        for domain in list(self.domains):
            self.drop(domain)
        if not self.is_open:
            return
        self.daemons.stop()
        try:
            os.rmdir(RUN)
        except OSError:
            pass
