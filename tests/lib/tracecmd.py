"""trace-cmd on what a tree's trace_pipe_raw gives, without a mount."""

import os
import re
import subprocess
import time

LINE = re.compile(r"^\s*(?P<comm>.+)-(?P<pid>\d+)\s+\[(?P<cpu>\d+)\]\s+(?P<time>\d+\.\d+): (?P<event>\S+):\s+(?P<body>.*)$")

FILES = ("events/header_page", "events/header_event", "printk_formats", "saved_cmdlines", "trace_clock", "current_tracer")


def save(traced, directory):
    """The files that `trace-cmd restore -c` reads, and the guest's functions as kallsyms."""
    for name in ("options", "instances", "events/ftrace"):
        os.makedirs(f"{directory}/{name}")
    formats = traced.tool("ls", traced.domain, "events/ftrace").split()
    for name in (*FILES, *(f"events/ftrace/{event}{file}" for event in formats for file in ("format", "id"))):
        os.makedirs(os.path.dirname(f"{directory}/{name}"), exist_ok=True)
        with open(f"{directory}/{name}", "wb") as file:
            file.write(traced.cat(name))
    with open(f"{directory}/trace", "wb"):
        pass
    with open(f"{directory}/kallsyms", "w", encoding="utf-8") as file:
        for line in traced.text("available_filter_functions_addrs").splitlines():
            address, name = line.split()[:2]
            file.write(f"{address} t {name}\n")


def take_pages(traced, path, cpu):
    """What per_cpu/cpuN/trace_pipe_raw has now. It has no end: it is left when all is taken and nothing comes any more,
    for longer than a loaded host keeps a program from writing what it has read."""
    with open(path, "wb") as file:
        process = subprocess.Popen(
            [traced.tool.path, "cat", traced.domain, f"per_cpu/cpu{cpu}/trace_pipe_raw"],
            stdin=subprocess.DEVNULL,
            stdout=file,
            env=traced.tool.env,
        )
        until = time.monotonic() + 60
        while not traced.text(f"per_cpu/cpu{cpu}/stats").startswith("entries: 0\n") and time.monotonic() < until:
            time.sleep(0.2)
        size = -1
        while size != os.path.getsize(path) and time.monotonic() < until:
            size = os.path.getsize(path)
            time.sleep(2)
        process.terminate()
        process.wait()


def report(directory, cpus):
    """The lines of `trace-cmd report` as matches of LINE."""

    def run(*words):
        done = subprocess.run(["trace-cmd", *words], cwd=directory, capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, f"trace-cmd {words[0]}: {done.stderr.decode(errors='replace')[-500:]}"
        return done.stdout.decode(errors="replace")

    run("restore", "-c", "-t", directory, "-k", "kallsyms", "-o", "head.dat")
    run("restore", "-i", "head.dat", *(f"cpu{cpu}" for cpu in range(cpus)))
    lines = run("report").splitlines()
    return [match for match in map(LINE.match, lines) if match], lines
