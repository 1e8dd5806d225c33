# SPDX-License-Identifier: GPL-2.0-or-later
"""Starts libvirt's daemons if none answers, and stops them afterwards. Leaves a running libvirtd alone."""

import grp
import os
import signal
import stat
import subprocess
import time

URI = "qemu:///system"
VIRSH_SECONDS = 600  # libvirt may first probe each emulator, and a save writes all RAM


def virsh(*words, check=True, timeout=VIRSH_SECONDS):
    """Returns the output of one virsh command. Raises RuntimeError with its message if it failed."""
    done = subprocess.run(
        ["virsh", "-q", "-c", URI, *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    if check and done.returncode != 0:
        raise RuntimeError(f"virsh {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout if done.returncode == 0 else ""


def answers():
    done = subprocess.run(
        ["virsh", "-q", "-c", URI, "version"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=VIRSH_SECONDS,
        check=False,
    )
    return done.returncode == 0


def pid_of(name):
    """Returns the pid from the daemon's pid file, or None if that process is not the daemon."""
    try:
        with open(f"/run/{name}.pid", encoding="ascii") as file:
            pid = int(file.read())
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return pid if file.read().strip() == name else None
    except (OSError, ValueError):
        return None


KVM = "/dev/kvm"


class Daemons:
    def __init__(self):
        self.started = []
        self.kvm_before = None  # (gid, mode) of /dev/kvm

    def _open_kvm_to_its_group(self):
        """Gives /dev/kvm to the group kvm, as udev would. libvirt (virQEMUCapsIsValid) checks whether QEMU's user may
        open it, but probes QEMU as root: if the results differ, every call probes again, for some 30 s."""
        try:
            now = os.stat(KVM)
            group = grp.getgrnam("kvm").gr_gid
        except (OSError, KeyError):
            return
        if now.st_gid == 0 and not now.st_mode & 0o006:
            self.kvm_before = (now.st_gid, stat.S_IMODE(now.st_mode))
            os.chown(KVM, -1, group)
            os.chmod(KVM, 0o660)

    def start(self):
        self._open_kvm_to_its_group()
        if answers():
            return
        for name in ("virtlogd", "libvirtd"):
            if pid_of(name) is None:
                subprocess.run([name, "-d"], stdin=subprocess.DEVNULL, check=True)
                self.started.append(name)
        deadline = time.monotonic() + VIRSH_SECONDS
        while not answers():
            if time.monotonic() > deadline:
                raise RuntimeError("libvirtd was started and does not answer")
            time.sleep(0.2)

    def stop(self):
        """Ends the daemons that start() started, unless a domain of another libvirt user is running."""
        if self.kvm_before:
            os.chmod(KVM, self.kvm_before[1])
            os.chown(KVM, -1, self.kvm_before[0])
            self.kvm_before = None
        if not self.started or virsh("list", "--name", check=False).strip():
            return
        for name in reversed(self.started):
            pid = pid_of(name)
            if pid is None:
                continue
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + 15
            while pid_of(name) == pid and time.monotonic() < deadline:
                time.sleep(0.1)
        self.started = []
