# SPDX-License-Identifier: GPL-2.0-or-later
"""exec and sh: programs that see the tree in place of the host's tracefs."""

import errno
import os
import re
import signal
import subprocess
import sys

from tree import PATIENCE, case, cmdline, comm, until

with open("/proc/sys/kernel/kptr_restrict", encoding="utf-8") as setting:
    KPTR = setting.read()
with open("/proc/filesystems", encoding="utf-8") as known:
    HOST_HAS_TRACEFS = "\ttracefs\n" in known.read()


@case
def programs_see_the_guest(t):
    """exec and sh: the tree, the CPUs and the version are the guest's; status and signals pass through."""
    text = t.hv("sh", "fake", "-c", "pwd; cat current_tracer; cat /sys/kernel/debug/tracing/tracing_on")
    assert text == "/sys/kernel/tracing\nnop\n1\n", text
    assert t.hv("exec", "fake", "--", "cat", "/proc/version") == "Linux version 6.1.0-fake\n"
    if os.path.exists("/proc/modules"):
        assert t.hv("exec", "fake", "cat", "/proc/modules") == "m 8192 - - Live 0xffffffffc0001000\n"
    assert t.hv("exec", "fake", "cat", "/sys/devices/system/cpu/possible") == "0-1\n"
    assert t.hv("exec", "fake", "getconf", "_NPROCESSORS_CONF") == "2\n"
    assert t.hv("exec", "fake", "printenv", "HVTRACE_DOMAIN") == "fake\n"
    assert t.hv("sh", "fake", "-c", 'echo "$PS1"') == "${HVTRACE_DOMAIN}# \n"
    t.hv("exec", "fake", "sh", "-c", "exit 42", status=42)
    t.hv("exec", "fake", "sh", "-c", "kill -TERM $$", status=-signal.SIGTERM)
    t.hv("exec", "fake", "/no/such", status=127)
    assert "not attached" in t.hv("exec", "other", "true", status=1)
    if HOST_HAS_TRACEFS:  # programs look for its mount
        assert "1\n" == t.hv("exec", "fake", "grep", "-c", " /sys/kernel/tracing tracefs ro,", "/proc/mounts")
    # the host's own files are as they were
    script = f"{' '.join(t.command)} exec fake true; cat /proc/version"
    shared = subprocess.run(["unshare", "-m", "--propagation", "shared", "sh", "-c", script], capture_output=True, check=True)
    assert b"fake" not in shared.stdout, "the files of exec are visible outside"
    with open("/proc/version", encoding="utf-8") as file:
        assert "fake" not in file.read()
    t.hv("exec", "fake", "sh", "-c", "echo 2 >/proc/sys/kernel/kptr_restrict; echo 0 >/proc/sys/kernel/ftrace_enabled")
    with open("/proc/sys/kernel/kptr_restrict", encoding="utf-8") as file:
        assert file.read() != "2\n" or KPTR == "2\n"


@case
def missing_requirements_of_exec(t):
    """The message of exec names the directory or the process that it cannot prepare."""
    enter = "exec", "fake", "true"
    assert "domain 'fake': cannot make a mount namespace: Operation not permitted" in t.failing("unshare", "EPERM", *enter)
    assert re.search(r"/\.enter-\w+: cannot be mounted on: Operation not permitted", t.failing("mount:3=14", "EPERM", *enter))
    assert re.search(r"domain 'fake': /proc/\S+: cannot be bound over: Operation not permitted", t.failing("mount:3=0x1000", "EPERM", *enter))
    assert "cannot start the process that answers mounts: Too many open files" in t.failing("socketpair", "EMFILE", *enter)
    assert "cannot install the filter that answers mounts: Invalid argument" in t.failing("seccomp:1=8", "EINVAL", *enter)  # SECCOMP_FILTER_FLAG_NEW_LISTENER
    assert "/sys/kernel/tracing: cannot be entered: Permission denied" in t.failing("fchdir", "EACCES", "sh", "fake", "-c", "true")
    host = os.path.join(os.path.dirname(t.dir), "host")  # the host's own tracing must not stay
    os.mkdir(host)
    if HOST_HAS_TRACEFS and subprocess.run(["mount", "-t", "tracefs", "none", host], capture_output=True).returncode == 0:
        assert f"{host}: cannot be unmounted: Operation not permitted" in t.failing("umount2", "EPERM", *enter)
        subprocess.run(["umount", host], check=True)
    # the process that serves the mount needs chdir(2)
    assert "/sys/kernel/tracing: cannot be examined: Transport endpoint is not connected" in t.failing("chdir", "EACCES", *enter)


# A program that mounts; its output is a file of that mount.
MOUNTS = "mkdir -p {dir}; mount -t {type} none {dir} && cat {file}; umount -R {dir}; rmdir {dir}"
OLD_CALL = (
    "import ctypes, os, sys; libc = ctypes.CDLL(None, use_errno=True); "
    "sys.exit(libc.mount(b'none', sys.argv[2].encode(), sys.argv[1].encode(), 0, None) and ctypes.get_errno())"
)
NEW_CALL = "import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True); sys.exit(libc.syscall(430, b'tracefs', 0) < 0 and ctypes.get_errno())"


@case
def programs_that_mount_see_the_guest(t):
    """mount(2) of tracefs and debugfs shows the guest's tree, also in a namespace, by a relative path and in a nested exec;
    fsopen(2) of them is refused. The kernel handles all other mounts with the program's own permissions."""
    t.hv("echo", "fake", "current_tracer", "function")  # the host has another tracer
    t.hv("echo", "fake", "tracing_on", "0")
    for kind, file in (("tracefs", "current_tracer"), ("debugfs", "tracing/current_tracer")):
        text = t.hv("exec", "fake", "sh", "-c", MOUNTS.format(dir="/tmp/hvtrace-mounts", type=kind, file=f"/tmp/hvtrace-mounts/{file}"))
        assert text == "function\n", (kind, text)
    relative = MOUNTS.format(dir="below", type="tracefs", file="below/tracing_on")
    assert t.hv("exec", "fake", "sh", "-c", f"cd /tmp; {relative}") == "0\n"
    assert t.hv("exec", "fake", "unshare", "-m", "sh", "-c", f"cd /tmp; {relative}") == "0\n"
    assert t.hv("exec", "fake", *t.command, "exec", "fake", "sh", "-c", f"cd /tmp; {relative}") == "0\n"
    assert t.hv("exec", "fake", "sh", "-c", MOUNTS.format(dir="/tmp/below", type="tmpfs", file="/proc/self/comm")) == "cat\n"
    t.hv("exec", "fake", sys.executable, "-c", NEW_CALL, status=errno.EPERM)
    os.makedirs("/tmp/hvtrace-mounts", exist_ok=True)
    t.hv("exec", "fake", "setpriv", "--reuid=65534", "--clear-groups", sys.executable, "-c", OLD_CALL, "tracefs", "/tmp/hvtrace-mounts", status=errno.EPERM)
    t.hv("exec", "fake", "unshare", "-U", "-r", "-m", sys.executable, "-c", OLD_CALL, "tracefs", "/tmp/hvtrace-mounts", status=errno.EPERM)
    os.rmdir("/tmp/hvtrace-mounts")
    t.hv("exec", "fake", sys.executable, "-c", OLD_CALL, "tracefs", "/tmp/no/such", status=errno.ENOENT)
    if HOST_HAS_TRACEFS:  # rasdaemon and LTP look for debugfs
        assert "1\n" == t.hv("exec", "fake", "grep", "-c", " /sys/kernel/debug debugfs ro,", "/proc/mounts")
    until(lambda: not [pid for pid in os.listdir("/proc") if comm(pid) == "hvtrace:guard" and t.run_dir in cmdline(pid)])


@case
def programs_switch_the_stack_tracer(t):
    """The sysctl file of the kernel's stack tracer switches the guest's stack tracer."""
    sysctl = "/proc/sys/kernel/stack_tracer_enabled"
    inside = f"echo 1 >{sysctl}; cat stack_tracer_enabled; echo 0 >stack_tracer_enabled; cat {sysctl}"
    script = (
        f"mount -t tmpfs none /proc/sys/kernel && echo host >{sysctl} && "
        f"{' '.join(t.command)} sh fake -c '{inside}' && cat {sysctl}"
    )
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"1\n0\nhost\n"), done


@case
def the_host_is_out_of_reach(t):
    """If the mount's process is dead, or the tree unmounted, the host's own tracing is still out of reach."""
    shell = subprocess.Popen([*t.command, "sh", "fake"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    shell.stdin.write("cat tracing_on\n")
    shell.stdin.flush()
    assert shell.stdout.readline() == "1\n"
    # both: the tree's and this shell's
    servers = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and comm(pid) == "hvtrace:mount"
               and t.run_dir in cmdline(pid)]
    for pid in servers:
        os.kill(pid, signal.SIGKILL)
    shell.stdin.write("cd /; cat /sys/kernel/tracing/tracing_on 2>&1; cat /sys/kernel/debug/tracing/tracing_on 2>&1\n"
                      "umount -l /sys/kernel/tracing; ls /sys/kernel/tracing | grep -c current_tracer\n"
                      "echo 0 2>&1 >/sys/kernel/tracing/tracing_on || echo refused; umount -l /sys/kernel/debug;"
                      " ls /sys/kernel/debug | grep -c tracing\n")
    text = shell.communicate(timeout=PATIENCE)[0]
    assert len(re.findall("not connected|connection abort", text)) == 2, text
    assert re.search(r"^0$", text, re.M) and "refused" in text, text
    assert text.endswith("\n0\n"), text
