# SPDX-License-Identifier: GPL-2.0-or-later
"""A machine of `hvtrace run`. Its console is a pipe of this process and runs a shell."""

import ctypes
import os
import re
import struct
import subprocess
import threading
import time

from lib import channel, kvm
from lib.domain import BOOT_SECONDS, PATIENCE, PREFIX, script

APPEND = f"console=ttyS0 reboot=k panic=-1 quiet {PATIENCE}"
SHELL = "rdinit=/bin/busybox -- sh"
SETUP = (
    "/bin/busybox --install -s /bin; mkdir -p /sys/kernel/tracing; mount -t proc none /proc; "
    "mount -t sysfs none /sys; mount -t devtmpfs none /dev; mount -t tmpfs none /tmp; "
    "mount -t tracefs none /sys/kernel/tracing; echo 1 >/proc/sys/kernel/printk; "
    "dmesg -c >/tmp/boot.log"
)


def kernel_file(suite):
    """Returns (the bzImage, the initrd)."""
    directory = script("kernel", suite)
    name = next(name for name in os.listdir(f"{directory}/boot") if name.startswith("vmlinu"))
    return f"{directory}/boot/{name}", script("initramfs", directory)


def unpack_vmlinux(bzimage, path):
    """Unpacks the ELF file in a bzImage to PATH. Returns False if its compression is not zstd."""
    with open(bzimage, "rb") as file:
        data = file.read()
    at, length = struct.unpack_from("<II", data, 0x248)
    start = (data[0x1F1] + 1) * 512 + at
    packed, size = data[start : start + length - 4], struct.unpack_from("<I", data, start + length - 4)[0]
    if not packed.startswith(b"\x28\xb5\x2f\xfd"):
        return False
    zstd = ctypes.CDLL("libzstd.so.1")  # QEMU is linked with it
    zstd.ZSTD_decompress.restype = ctypes.c_size_t
    unpacked = ctypes.create_string_buffer(size)
    got = zstd.ZSTD_decompress(unpacked, ctypes.c_size_t(size), packed, ctypes.c_size_t(len(packed)))
    if got != size or unpacked.raw[:4] != b"\x7fELF":
        raise AssertionError(f"{bzimage}: unpacked {got} of {size} bytes, or no ELF file")
    with open(path, "wb") as file:
        file.write(unpacked.raw)
    return True


class OwnMachine:
    """`with OwnMachine(...) as m:` boots a machine. It is killed at the end if it is still running."""

    count = 0

    def __init__(self, hv, suite, *options, kernel=None, append=""):
        OwnMachine.count += 1
        bzimage, initrd = kernel_file(suite)
        self.hv = hv
        self.name = f"{PREFIX}{os.getpid()}-own{OwnMachine.count}"
        self.words = ["run", "--kernel", kernel or bzimage, "--initrd", initrd, "--name", self.name,
                      "--append", f"{APPEND} {append} {SHELL}", *options]  # fmt: skip
        self.said = b""
        self.err = b""
        self.nr = 0
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(
            [self.hv.path, *self.words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self.hv.env,
        )  # fmt: skip
        threading.Thread(target=self._read, daemon=True).start()
        self.err_reader = threading.Thread(target=self._read_err, daemon=True)
        self.err_reader.start()
        try:
            # The shell, which starts much later, reads this from the pipe.
            self.process.stdin.write(f"{SETUP}\n".encode())
            self.process.stdin.flush()
            self._wait(rb"/ # ", BOOT_SECONDS)
            self.run("[ -d /proc/1 ]")
        except Exception:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error):
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdin.close()
        self.err_reader.join(20)

    def _read_err(self):
        for data in iter(lambda: os.read(self.process.stderr.fileno(), 65536), b""):
            self.err += data

    def _stderr(self):
        """Returns the whole stderr of the process, which has ended."""
        self.err_reader.join(20)
        return self.err.decode(errors="replace")

    def _read(self):
        for data in iter(lambda: os.read(self.process.stdout.fileno(), 65536), b""):
            self.said += data

    def _wait(self, pattern, seconds):
        deadline = time.monotonic() + seconds
        while True:
            match = re.search(pattern, self.said, re.S)
            if match:
                return match
            if time.monotonic() > deadline or self.process.poll() is not None:
                status = self.process.poll()
                err = "" if status is None else self._stderr()
                raise channel.GuestDead(
                    f"no {pattern!r}; exit {status}: {err}; {kvm.whereabouts()}; output: {self.said[-800:]!r}"
                )
            time.sleep(0.02)

    def run(self, command, timeout=120):
        """Returns the output of COMMAND. An exit status other than 0 is an error."""
        self.nr += 1
        self.said = b""
        line = f"echo 'BE''GIN' {self.nr}; {{ {command}\n}} 2>&1 </dev/null; echo 'E''ND' {self.nr} $?\n"
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        match = self._wait(rb"BEGIN %d\r\n(.*)END %d (\d+)\r\n" % (self.nr, self.nr), timeout)
        # the terminal may echo the second line before or within the output
        text = match[1].decode(errors="replace").replace("\r\n", "\n")
        text = "\n".join(row for row in text.split("\n") if not row.startswith("> }"))
        if match[2] != b"0":
            raise channel.Failed(f"{command}: exit status {match[2].decode()}: {text[-500:]}")
        return text

    def wait_attached(self):
        """Waits until the session of the machine answers."""
        deadline = time.monotonic() + BOOT_SECONDS
        while self.hv.run("stat", self.name)[0] != 0:
            if time.monotonic() > deadline:
                raise AssertionError("not attached")
            time.sleep(0.3)

    def wait_said(self, text, seconds=BOOT_SECONDS):
        """Waits until hvtrace has printed TEXT on stderr."""
        deadline = time.monotonic() + seconds
        while text.encode() not in self.err:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"hvtrace did not print {text!r}: {self.err!r}")
            time.sleep(0.02)

    def end(self, command, timeout=BOOT_SECONDS):
        """Runs COMMAND, which ends the machine. Returns (exit status, stderr) of hvtrace."""
        self.process.stdin.write(f"{command}\n".encode())
        self.process.stdin.flush()
        status = self.process.wait(timeout)
        return status, self._stderr()
