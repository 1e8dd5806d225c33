# SPDX-License-Identifier: GPL-2.0-or-later
"""The hvtrace under test: its commands, and its leftovers on the host."""

import glob
import json
import os
import signal
import subprocess

from .wait import until

RUN_DIR = "/run/hvtrace"
# Cases run these verbs most often. tests/golden/cli checks them for leaks, which takes half of their processor time.
NOT_CHECKED_FOR_LEAKS = ("cat", "echo", "ls", "stat")


def children_of(pid):
    """Returns the children of PID. A service has a broker; a broker has a parser, and a guardian or keeper."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


PARSER = "hvtrace:parser"


def is_parser(pid):
    try:
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read().strip() == PARSER
    except OSError:
        return False


def child_of(pid):
    """Returns the broker of a service, or the guardian or keeper of a broker."""
    return [child for child in children_of(pid) if not is_parser(child)][0]


def parser_of(broker):
    return [child for child in children_of(broker) if is_parser(child)][0]


class ToolFailed(Exception):
    pass


class Tool:
    def __init__(self, path, helpers=None):
        """HELPERS: the build directory with the tests' own programs. Default: that of PATH."""
        self.path = os.path.abspath(path)
        self.helpers = helpers or os.path.dirname(os.path.dirname(self.path))
        self.old = self._run_dirs("hvtrace-")
        # A service has no stderr, so the sanitizers write their findings into files.
        self.reports = f"/run/hvtrace-test/sanitizer-{os.getpid()}"
        self.env = dict(
            os.environ,
            ASAN_OPTIONS=f"log_path={self.reports}:abort_on_error=1:disable_coredump=1:handle_sigill=1",
            UBSAN_OPTIONS=f"log_path={self.reports}:halt_on_error=1:print_stacktrace=1",
        )

    def _env_of(self, words):
        if words and words[0] in NOT_CHECKED_FOR_LEAKS:
            return dict(self.env, ASAN_OPTIONS=self.env["ASAN_OPTIONS"] + ":detect_leaks=0")
        return self.env

    def run(self, *words, timeout=120, stdin=None):
        """Returns (exit status, stdout as bytes, stderr as text)."""
        done = subprocess.run(
            [self.path, *words],
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            env=self._env_of(words),
            timeout=timeout,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr.decode(errors="replace")

    def bytes(self, *words, timeout=120):
        status, out, err = self.run(*words, timeout=timeout)
        if status != 0:
            raise ToolFailed(f"hvtrace {' '.join(words)}: exit {status}: {err.strip()}")
        return out

    def __call__(self, *words, timeout=120):
        return self.bytes(*words, timeout=timeout).decode(errors="replace")

    def start(self, *words):
        """Starts a command and leaves it running. Its stdout and stderr are pipes."""
        return subprocess.Popen(
            [self.path, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._env_of(words),
        )

    def fails(self, *words, says=(), timeout=120):
        """The command must exit with status 1, and stderr must contain every string of SAYS, in any case."""
        status, out, err = self.run(*words, timeout=timeout)
        what = f"hvtrace {' '.join(words)}"
        if status != 1:
            raise ToolFailed(f"{what}: exit {status} instead of 1: {(out.decode() + err).strip()[-500:]}")
        for word in says:
            if word.lower() not in err.lower():
                raise ToolFailed(f"{what}: no {word!r} in: {err.strip()}")
        return err

    def processes(self, words):
        """Returns [(pid, command line)] of this program's processes that have WORDS in their command line."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            try:
                if os.readlink(f"/proc/{name}/exe").split(" (deleted)")[0] != self.path:
                    continue
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    line = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
                if words in line:
                    found.append((int(name), line))
            except OSError:
                continue
        return found

    def take_reports(self):
        """Returns the sanitizers' findings since the last call, one string per process."""
        found = []
        for path in glob.glob(f"{self.reports}.*"):
            with open(path, encoding="utf-8", errors="replace") as file:
                found.append("sanitizer: " + file.read()[:3000])
            os.unlink(path)
        return found

    def service_of(self, domain):
        (path,) = self.run_dirs(domain)
        with open(f"{path}/info", encoding="utf-8") as file:
            ended = json.load(file).get("ended")
        assert not ended, f"the service of {domain} has ended: {ended}"
        with open(f"{path}/pid", encoding="ascii") as file:
            return int(file.read())

    def kill_session(self, domain):
        """kill -9 of the broker and the service, so that neither restores anything."""
        service = self.service_of(domain)
        for pid in (child_of(service), service):
            os.kill(pid, signal.SIGKILL)
        assert until(lambda: service not in dict(self.processes(domain))), "the service lives"

    def run_dirs(self, name):
        """Returns the services' directories (cli/rundir.h) of domains whose name begins with NAME, without those that
        earlier runs left."""
        return [path for path in self._run_dirs(name) if path not in self.old]

    @staticmethod
    def _run_dirs(name):
        found = []
        for entry in os.listdir(RUN_DIR) if os.path.isdir(RUN_DIR) else ():
            path = os.path.join(RUN_DIR, entry)
            try:
                with open(f"{path}/info", encoding="utf-8") as file:
                    if json.load(file)["name"].startswith(name):
                        found.append(path)
            except (OSError, ValueError, KeyError):
                continue
        return found

    def stat(self, domain):
        return json.loads(self("stat", "--json", domain))

    def end(self, verb, domain, disturb, refusals):
        """Returns the output of detach or recover. These refuse while a task's stack contains an address in a trampoline,
        even a stale one. Before each retry, DISTURB() makes the guest execute something."""
        for _ in range(4):
            status, out, err = self.run(verb, domain)
            if status == 0:
                return out.decode(errors="replace")
            if "may return into a trampoline" not in err:
                break
            refusals.append(f"{verb}: {err.strip().splitlines()[-1]}")
            disturb()
        raise ToolFailed(f"hvtrace {verb}: exit {status}: {err.strip()}")


class Traced:
    """hvtrace attached to a domain, as a `with` block. It is always detached at the end of the block."""

    def __init__(self, tool, domain, options=(), disturb=lambda: None, refusals=None):
        self.tool = tool
        self.domain = domain
        self.options = options
        self.disturb = disturb
        self.refusals = [] if refusals is None else refusals

    def __enter__(self):
        self.tool("attach", *self.options, self.domain)
        return self

    def __exit__(self, kind, _value, _trace):
        try:
            self.tool.end("detach", self.domain, self.disturb, self.refusals)
        except ToolFailed:
            if kind is None:
                raise

    def kill(self):
        """Kills the session with kill -9, and waits until it and its helpers have ended."""
        self.tool.kill_session(self.domain)
        assert until(lambda: not self.tool.processes(self.domain)), f"still there: {self.tool.processes(self.domain)}"

    def cat(self, file, timeout=120):
        return self.tool.bytes("cat", self.domain, file, timeout=timeout)

    def text(self, file, timeout=120):
        return self.cat(file, timeout).decode(errors="replace")

    def echo(self, file, *words, append=False, timeout=120):
        options = ["--append"] if append else []
        return self.tool("echo", *options, self.domain, file, *words, timeout=timeout)

    def stat(self):
        return self.tool.stat(self.domain)
