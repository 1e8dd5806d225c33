# SPDX-License-Identifier: GPL-2.0-or-later
"""The second half of ../../demo: boots a domain, traces it, and checks that nothing is left."""

import os
import select
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from lib.domain import Config, Lab  # noqa: E402
from lib.memory import Memory  # noqa: E402
from lib.suite import bad_dmesg, left_behind  # noqa: E402
from lib.tool import Tool  # noqa: E402

NAME = "hvtrace-demo"
SECONDS = 4
LINES = 40


def step(text):
    print(f"\n\033[1m== {text}\033[0m", flush=True)


class Demo:
    def __init__(self, path, suite):
        self.hv = Tool(path)
        self.lab = Lab(lambda text: print(text, flush=True))
        self.config = Config(suite, 2)

    def shell(self, *words):
        """Runs one hvtrace command. Shows it as a user would type it, and its output."""
        print("# hvtrace " + " ".join(shlex.quote(word) for word in words), flush=True)
        status, out, err = self.hv.run(*words)
        sys.stdout.write(out.decode(errors="replace") + err)
        sys.stdout.flush()
        if status != 0:
            sys.exit(f"demo: hvtrace {words[0]} failed with exit status {status}")

    def boot(self):
        step(f"boot the domain {NAME}: an unmodified Debian kernel without preparation")
        self.lab.open()
        self.lab.remove_stale(NAME)
        start = time.monotonic()
        guest = self.lab.domain(self.config, NAME)
        guest.start()
        print(f"{guest.run('uname -srv').strip()}  (up after {time.monotonic() - start:.1f} s)")
        return guest

    def live(self):
        """Shows trace_pipe for some seconds: the first lines as they come, and the number of the others."""
        print(f"# timeout {SECONDS} hvtrace cat {NAME} trace_pipe")
        process = self.hv.start("cat", NAME, "trace_pipe")
        end, data, shown = time.monotonic() + SECONDS, b"", 0
        try:
            while (left := end - time.monotonic()) > 0:
                if not select.select([process.stdout], [], [], left)[0]:
                    break
                piece = os.read(process.stdout.fileno(), 1 << 16)
                if not piece:
                    break
                data += piece
                lines = data.count(b"\n")
                for line in data.split(b"\n")[shown : min(lines, LINES)]:
                    print(line.decode(errors="replace"), flush=True)
                shown = min(lines, LINES)
        finally:
            process.terminate()
            process.communicate()
        if data.count(b"\n") > shown:
            print(f"... and {data.count(10) - shown} more lines")
        if not data:
            sys.exit("demo: trace_pipe stayed empty")

    def trace(self, guest):
        step("check, which changes nothing")
        self.shell("list")
        self.shell("check", NAME)
        memory = Memory(guest)
        before = memory.snapshot()
        guest.run("dmesg -c >/dev/null")
        step("attach and trace")
        guest.run("(while :; do cat /proc/uptime; sleep 0.3; done) >/dev/null 2>&1 &")
        self.shell("attach", NAME)
        self.shell("echo", NAME, "set_ftrace_filter", "vfs_*", "*pipe*", "kernel_clone", "do_exit")
        self.shell("echo", NAME, "current_tracer", "function")
        self.live()
        step("trace all functions of the kernel for a second")
        self.shell("echo", NAME, "set_ftrace_filter", "")
        time.sleep(1)
        self.shell("stat", NAME)
        step("detach")
        self.shell("detach", NAME)
        step("verify the guest without code of hvtrace")
        self.prove(guest, memory, before)

    def prove(self, guest, memory, before):
        bad, own = memory.compare(before, memory.snapshot())
        bad += left_behind(self.hv, names=NAME)
        bad += bad_dmesg(guest.run("dmesg"))
        alive = guest.run("uptime").strip()
        size = len(before["text"]) >> 20
        for line in own:
            print(f"the guest's own change: {line}")
        for line in bad:
            print(f"WRONG: {line}")
        if bad:
            sys.exit(1)
        print(f"kernel text ({size} MiB) and page-table entries: no change by hvtrace is left")
        print("guest's dmesg: clean\nguest: " + alive)
        print("host: no process, no socket left")

    def run(self):
        try:
            self.trace(self.boot())
        finally:
            self.end_session()
            step("clean up")
            self.lab.close()
            print("removed the domain, and stopped the daemons that were started for it")

    def end_session(self):
        """Cleans up after a Ctrl-C."""
        if self.hv.processes(NAME):
            subprocess.run([self.hv.path, "detach", NAME], stderr=subprocess.DEVNULL, check=False)


Demo(sys.argv[1], sys.argv[2]).run()
