# SPDX-License-Identifier: GPL-2.0-or-later
"""trace-cmd on the contents of a tree's trace_pipe_raw, without a mount."""

import os
import re
import subprocess

from .wait import HANG_SECONDS, until

LINE = re.compile(r"^\s*(?P<comm>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<time>\d+\.\d+): (?P<event>\S+):\s+(?P<body>.*)$")

# Pages of the kernel's ring buffer, as described in tree/format/raw_page.h.
PAGE = 4096
TIME_EXTEND = 30

FILES = ("events/header_page", "events/header_event", "printk_formats", "saved_cmdlines", "trace_clock", "current_tracer")


def save(traced, directory):
    """Writes the files that `trace-cmd restore -c` reads, and the guest's functions as kallsyms."""
    for name in ("options", "instances", "events/ftrace"):
        os.makedirs(f"{directory}/{name}")
    events = [name for name in traced.tool("ls", traced.domain, "events/ftrace").split() if name.endswith("/")]
    for name in (*FILES, *(f"events/ftrace/{event}format" for event in events)):
        os.makedirs(os.path.dirname(f"{directory}/{name}"), exist_ok=True)
        with open(f"{directory}/{name}", "wb") as file:
            file.write(traced.cat(name))
    with open(f"{directory}/trace", "wb"):
        pass
    with open(f"{directory}/kallsyms", "w", encoding="utf-8") as file:
        for line in traced.text("available_filter_functions_addrs").splitlines():
            address, name = line.split()[:2]
            file.write(f"{address} t {name}\n")


def events_in(path):
    """Returns the number of events in a file of whole pages."""
    with open(path, "rb") as file:
        data = file.read()
    nr = 0
    for page in (data[at : at + PAGE] for at in range(0, len(data) - PAGE + 1, PAGE)):
        at, end = 16, 16 + (int.from_bytes(page[8:16], "little") & 0xFFFFF)
        while at < end:
            kind = page[at] & 31
            nr += kind != TIME_EXTEND
            long = int.from_bytes(page[at + 4 : at + 8], "little")
            at += 8 if kind == TIME_EXTEND else 4 + (4 * kind or long)
    return nr


def take_pages(traced, path, cpu):
    """Reads per_cpu/cpuN/trace_pipe_raw with recording off. The file has no end, so reading stops at the number of
    events in stats."""
    entries = int(traced.text(f"per_cpu/cpu{cpu}/stats").split()[1])
    with open(path, "wb") as file:
        process = subprocess.Popen(
            [traced.tool.path, "cat", traced.domain, f"per_cpu/cpu{cpu}/trace_pipe_raw"],
            stdin=subprocess.DEVNULL,
            stdout=file,
            env=traced.tool.env,
        )
        until(lambda: events_in(path) >= entries or process.poll() is not None)
        process.terminate()
        process.wait()
    assert events_in(path) == entries, f"cpu {cpu}: {events_in(path)} of {entries} events"


def report(directory, cpus):
    """Returns the matches of LINE in the output of `trace-cmd report`, and all its lines."""

    def run(*words):
        done = subprocess.run(["trace-cmd", *words], cwd=directory, capture_output=True, timeout=HANG_SECONDS, check=False)
        assert done.returncode == 0, f"trace-cmd {words[0]}: {done.stderr.decode(errors='replace')[-500:]}"
        return done.stdout.decode(errors="replace")

    run("restore", "-c", "-t", directory, "-k", "kallsyms", "-o", "head.dat")
    run("restore", "-i", "head.dat", *(f"cpu{cpu}" for cpu in range(cpus)))
    lines = run("report").splitlines()
    return [match for match in map(LINE.match, lines) if match], lines
