# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs cases on guests: one boot per configuration, one line per case. After each case it checks that hvtrace's bytes
are gone, the guest is alive, its dmesg is clean and hvtrace left nothing on the host."""

import dataclasses
import os
import re
import shutil
import signal
import time
import traceback

from . import channel, image, kvm, tool
from .domain import PREFIX, RUN, Config, Lab
from .lanes import Lanes
from .memory import Memory
from .wait import HANG_SECONDS, until

BAD_DMESG = re.compile(
    r"BUG:|WARNING:|Oops|general protection|invalid opcode|soft lockup|hard LOCKUP|hung_task|"
    r"blocked for more than|rcu.*(stall|starved)|Kernel panic|ftrace (failed|bug)|\[ cut here"
)


# The registers of ttyS1 that can be read without taking a byte from it.
UART = (("LSR", "0x2fd"), ("IER", "0x2f9"), ("IIR", "0x2fa"), ("LCR", "0x2fb"), ("MCR", "0x2fc"))


class Skip(Exception):
    """The case cannot run here; the text names the missing part."""


class Case:
    def __init__(self, run, configs, further, fresh, alone, sanitized):
        self.run = run
        self.name = run.__name__
        self.configs = configs  # None: the case starts its own guests
        self.further = further
        self.fresh = fresh  # the case ends its guest, so it gets a separate one
        self.alone = alone  # no other guest of this suite runs at that time
        self.sanitized = sanitized

    def use(self, all_kernels):
        """Adds the further configurations if ALL_KERNELS. If a developer supplied the kernel, keeps only guests with
        it."""
        if all_kernels or IS_IMAGE:
            self.configs, self.further = (*self.configs, *self.further), ()
        if IS_IMAGE:
            self.configs = tuple(c for c in self.configs if c and c.suite in KERNELS)

    def title(self, config):
        return f"{config.title()}: {self.name}" if config else self.name


@dataclasses.dataclass
class Part:
    """Cases that run one after the other: all cases of one guest, or one case without a guest."""

    config: Config
    cases: list

    def titles(self):
        return [case_.title(self.config) for case_ in self.cases]


CASES = []
# Two kernels, the older one first, as arguments of scripts/kernel: SUITE or SUITE:META-PACKAGE.
KERNELS = os.environ.get("HVTRACE_TEST_KERNELS", "bookworm trixie").split()
IS_IMAGE = KERNELS[0].startswith(image.PREFIX)
if len(KERNELS) == 1:
    KERNELS *= 2  # each configuration of a case is still used once
# "hidden": the guests of most cases have no BTF, as if their kernels were built without it.
BTF = os.environ.get("HVTRACE_TEST_BTF") != "hidden"
STANDARD = [Config(kernel, vcpus, btf=BTF) for kernel in KERNELS for vcpus in (2, 1)]
ONE_VCPU = tuple(config for config in STANDARD if config.vcpus == 1)
# For cases in which the guest patches itself, but not all functions: use ONE_VCPU for these. docs/internals/testing.md
# explains why.
IN_TURN = tuple(dataclasses.replace(config, in_turn=True) for config in STANDARD if config.vcpus > 1)
# Kernels that differ from those above in the register numbers of ORC entries and in how interrupt stacks are found.
NEWEST = Config("sid", 2, in_turn=True, btf=BTF)
OLDEST = Config("bullseye", 1, btf=BTF)


OWN_GUESTS = (None,)


def case(configs=tuple(STANDARD[:3]), further=(), fresh=False, alone=False, sanitized=False):
    """Registers a case: f(t) with t.guest, t.hv, t.lab. By default it runs with two vCPUs on both kernels, and with one
    vCPU on one of them. CONFIGS=OWN_GUESTS: it starts its own guests. FURTHER: slow configurations, which a run of all
    cases uses only with --all-kernels; OWN_GUESTS, if CONFIGS is empty, makes the case slow. ALONE: it measures
    durations. Cases with counted instructions are alone, too, because their guests use a CPU even while idle.
    SANITIZED: with its first configuration, the case uses the program with sanitizers, if there are two programs."""

    def register(run):
        CASES.append(Case(run, tuple(dict.fromkeys(configs)), tuple(further), fresh, alone, sanitized))
        return run

    return register


class Test:
    """The argument of a case."""

    def __init__(self, lab, hv, guest):
        self.lab = lab
        self.hv = hv
        self.guest = guest
        self.notes = []
        self.refusals = []

    @property
    def name(self):
        return self.guest.name

    def disturb(self):
        for vcpu in range(self.guest.config.vcpus):
            self.guest.run(f"for i in $(seq 20); do taskset {1 << vcpu:x} cat /proc/uptime; sleep 0.01; done")

    def attach(self, *options):
        return tool.Traced(self.hv, self.guest.name, options, self.disturb, self.refusals)

    def recover(self):
        """Returns the output of recover."""
        return self.hv.end("recover", self.guest.name, self.disturb, self.refusals)

    def await_record(self, process, tracer):
        """Waits until PROCESS, of `hvtrace record -p TRACER` or `hvtrace hist`, records or has ended. A new instance
        records immediately; record stops that, sets the tracer, and starts recording."""
        own = f"instances/record-{process.pid}"
        for file, text in (("current_tracer", tracer), ("tracing_on", "1")):
            wanted = (0, f"{text}\n".encode())
            assert until(
                lambda file=file, wanted=wanted: process.poll() is not None or self.hv.run("cat", self.name, f"{own}/{file}")[:2] == wanted
            )

    def await_event(self, process, name):
        """Waits until PROCESS, of `hvtrace record` with -e, -k or --marks, records the event NAME. A new instance
        records immediately, but record stops that before it sets events."""
        own = f"instances/record-{process.pid}"

        def has(file, text):
            return process.poll() is not None or text in self.hv.run("cat", self.name, f"{own}/{file}")[1]

        assert until(lambda: has("set_event", name.encode())) and until(lambda: has("tracing_on", b"1\n"))

    def end_recording(self, process):
        """Ends a `hvtrace record` by SIGINT. Returns its output and its messages, as bytes."""
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANG_SECONDS)
        assert process.returncode == -signal.SIGINT and b" 0 lost" in err, (process.returncode, err)
        return out, err

    def note(self, text):
        """Shows text after the case's line: figures, the guest's own differences."""
        self.notes.append(text)


def bad_dmesg(text):
    return [line for line in text.splitlines() if BAD_DMESG.search(line)]


def private_dir(guest):
    """Returns the domain's private directory, or None."""
    root = "/var/lib/libvirt/qemu"
    for name in os.listdir(root):
        if name.startswith("domain-") and guest.name.startswith(name.split("-", 2)[2]):
            return os.path.join(root, name)
    return None


def private_files(guest):
    """Returns the names in the domain's private directory, where hvtrace's gdb socket would be."""
    found = private_dir(guest)
    return sorted(os.listdir(found)) if found else []


def last_words(guest):
    """Shows the state of a guest that does not answer: vCPUs, pending interrupts, the channel's serial port,
    console."""
    try:
        said = guest.monitor("info registers -a") + guest.monitor("info lapic") + guest.monitor("info pic")
        port = ", ".join(f"{name} {guest.monitor(f'i /xb {address}').split()[-1]}" for name, address in UART)
        woken = guest.channel.listen(2)
        asked = guest.channel.ask(5)
    except Exception as error:  # noqa: BLE001 - the guest is gone
        said, port, woken, asked = str(error), "not known", b"", b""
    lines = [line for line in said.splitlines() if re.match(r"CPU#|RIP=|IRR|ISR|LVTT |  pin [34] |pic\d:", line.rstrip())]
    lines.append(kvm.whereabouts())
    lines.append(f"serial port of the channel: {port}" + (f"; after these queries it sent {woken!r}" if woken else ""))
    lines.append(f"answer to another ping: {asked!r}")
    return [f"state {guest.state()}", *lines, *guest.console().splitlines()[-5:]]


class Watch:
    """The state of the guest before a case, and its check after the case."""

    def __init__(self, guest, hv):
        self.guest = guest
        self.hv = hv
        guest.run("dmesg -c >/dev/null")
        self.console = len(guest.console())
        self.memory = Memory(guest)
        self.before = self.memory.snapshot()
        self.files = private_files(guest)

    def places(self):
        """Returns the positions of the vCPUs, three times, as _text+OFFSET."""
        text, found = self.memory.symbols["_text"], []
        for _ in range(3):
            registers = self.guest.monitor("info registers -a")
            found.append(" ".join(f"_text+0x{int(ip, 16) - text:x}" for ip in re.findall(r"RIP=([0-9a-f]+)", registers)))
            time.sleep(0.5)
        return ", ".join(found)

    def proof(self, test):
        """Returns a list of errors."""
        wrong = left_behind(self.hv)
        guest = self.guest
        state = guest.state()
        if state != "running":
            return wrong + [f"the guest is {state}"]
        try:
            if guest.run("echo alive; [ -d /proc/1 ]").strip() != "alive":
                wrong.append("the guest does not answer")
            bad, own = self.memory.compare(self.before, self.memory.snapshot())
            wrong += bad[:8] + ([f"... {len(bad)} differences"] if len(bad) > 8 else [])
            if own:
                test.note(f"{len(own)} differences of the guest's own: {own[0]}")
            wrong += [f"guest dmesg: {line}" for line in bad_dmesg(guest.run("dmesg"))[:5]]
        except channel.GuestDead as dead:
            wrong.append(f"the guest does not answer: {dead}; console: {guest.console()[-800:]}")
            wrong.append(f"vCPUs at: {self.places()}")
        wrong += [f"console: {line}" for line in bad_dmesg(guest.console()[self.console :])[:5]]
        if private_files(guest) != self.files:
            wrong.append(f"left in the domain's directory: {set(private_files(guest)) - set(self.files)}")
        self.memory.close()
        return wrong


def our_names(pid=None):
    """Returns the prefix of the names of a process's guests; default: this process."""
    return f"{PREFIX}{pid or os.getpid()}-"


def left_behind(hv, names=None):
    """Returns the processes and sockets of hvtrace that remain after services have ended."""
    left, names = [], names or our_names()

    def nothing():
        left[:] = [f"process left: {pid} {words}" for pid, words in hv.processes(names)]
        left.extend(f"socket left: {path}/sock" for path in hv.run_dirs(names) if os.path.exists(f"{path}/sock"))
        return not left

    until(nothing)
    return left


class Runner:
    def __init__(self, lab, hv, say, tell=lambda verdict, title: None, sanitized=None):
        """Calls `tell` with the verdict on each case. SANITIZED: the program for sanitized cases. Default: HV."""
        self.lab = lab
        self.hv = hv
        self.sanitized = sanitized or hv
        self.say = say
        self.tell = tell
        self.passed = self.failed = self.skipped = 0
        self.failures = []

    def count(self, verdict, title):
        self.tell(verdict, title)
        self.passed += verdict == "ok"
        self.failed += verdict == "FAIL"
        self.skipped += verdict == "skip"
        if verdict == "FAIL":
            self.failures.append(title)

    def _line(self, verdict, title, seconds, notes=()):
        self.say(f"{verdict:4} {title}  ({seconds:.1f} s)" + "".join(f"\n       {n}" for n in notes))

    def run_case(self, case_, guest, title):
        """Runs a case. Returns whether the guest can serve further cases."""
        start = time.monotonic()
        hv = self.sanitized if case_.sanitized and (guest and guest.config) == case_.configs[0] else self.hv
        test = Test(self.lab, hv, guest)
        wrong, usable = [], True
        record = kvm.Record(guest.pid) if guest else None
        try:
            watch = Watch(guest, hv) if guest and not case_.fresh else None
            try:
                case_.run(test)
            except Skip:
                raise
            except Exception as error:  # noqa: BLE001 - a case may fail in any way
                wrong.append(f"{type(error).__name__}: {error}")
                if guest and isinstance(error, channel.GuestDead):
                    wrong += last_words(guest)
                if not str(error) or not isinstance(error, (AssertionError, tool.ToolFailed, channel.Failed)):
                    wrong.append(traceback.format_exc(limit=-3))
                if guest and hv.processes(guest.name):
                    hv.run("detach", guest.name)
            if watch:
                more = watch.proof(test)
                usable = not more
                wrong += more
            else:
                wrong += left_behind(hv)
            wrong += hv.take_reports()
            if record and record.before:
                wrong += [f"the host's dmesg: {line}" for line in bad_dmesg("\n".join(record.new_lines()))[:5]]
            test.notes += [f"refused: {line}" for line in test.refusals]
        except Skip as reason:
            self.count("skip", title)
            self._line("skip", title, time.monotonic() - start, [str(reason)])
            return True
        except Exception as error:  # noqa: BLE001 - the guest died between cases
            wrong.append(f"{type(error).__name__}: {error}")
            if guest and isinstance(error, channel.GuestDead):
                wrong += last_words(guest)
            usable = False
        seconds = time.monotonic() - start
        if wrong:
            self.count("FAIL", title)
            self._line("FAIL", title, seconds, wrong + test.notes + (record.describe() if record else []))
        else:
            self.count("ok", title)
            self._line("ok", title, seconds, test.notes)
        end_processes(hv, our_names())  # leftovers of a failed case must not fail the next ones
        return usable

    def run_part(self, part):
        if part.config:
            self._run_config(part.config, part.cases)
        else:
            for case_ in part.cases:
                self.run_case(case_, None, case_.name)

    def _start(self, guest):
        """Boots a guest and waits for the answer to a command: in the nested lab some guests never answer
        (docs/internals/testing.md)."""
        guest.start()
        guest.run("[ -d /proc/1 ]")
        if not guest.config.btf:
            guest.run("insmod /modules/dummy.ko && rmmod dummy")  # the kernel reads its BTF at the first module
            Memory(guest).hide_btf()

    def _boot(self, config):
        start = time.monotonic()
        guest = self.lab.domain(config)
        try:
            self._start(guest)
        except Exception as error:  # noqa: BLE001 - QEMU's TCG sometimes crashes a boot: retry once
            self._line("    ", f"{config.title()}: boot failed ({error}), again", time.monotonic() - start, last_words(guest))
            self._drop(guest)
            guest = self.lab.domain(config)
            self._start(guest)
        self.say(f"---- {config.title()}: up  ({time.monotonic() - start:.1f} s)")
        return guest

    def _run_config(self, config, cases):
        guest = None
        for case_ in cases:
            title = case_.title(config)
            try:
                if guest is None:
                    guest = self._boot(config)
            except Exception as error:  # noqa: BLE001
                self.count("FAIL", title)
                self._line("FAIL", title, 0, [f"no guest: {error}"])
                continue
            usable = self.run_case(case_, guest, title)
            if not usable or case_.fresh:
                self._drop(guest)
                guest = None
        if guest is not None:
            self._drop(guest)

    def _drop(self, guest):
        self.lab.drop(guest)
        for path in self.hv.run_dirs(guest.name):
            shutil.rmtree(path, ignore_errors=True)  # log and info of a service that ended early


def end_processes(hv, names):
    for pid, _words in hv.processes(names):
        try:
            os.kill(pid, 9)
        except OSError:
            pass


def matches(case_, config, patterns):
    """PATTERNS match a case's name, or its title with a configuration: "trixie, 2 vcpu: transport"."""
    return not patterns or any(re.search(p, name) for p in patterns for name in (case_.name, case_.title(config)))


def parts_of(cases, patterns):
    """Returns the parts of CASES, with all cases of a guest together."""
    configs = dict.fromkeys(config for case_ in cases for config in case_.configs if config)
    parts = []
    for config in configs:
        mine = [c for c in cases if config in c.configs and matches(c, config, patterns)]
        # Cases that end their guest come last, so that the others need no second boot.
        mine.sort(key=lambda c: c.fresh)
        parts += [Part(config, mine)] if mine else []
    return parts + [Part(None, [c]) for c in cases if None in c.configs]


def weight(part):
    """A case that starts its own guests takes as long as about three others with their share of a boot."""
    return len(part.cases) if part.config else 3


def split(parts):
    """Returns the parts that may run in parallel, the longest first, and those that run alone."""
    found = {False: [], True: []}
    for part in parts:
        for alone, some in found.items():
            cases = [c for c in part.cases if (c.alone or bool(part.config and part.config.counted)) == alone]
            some += [Part(part.config, cases)] if cases else []
    return sorted(found[False], key=weight, reverse=True), found[True]


def run_beside(lab, hv, sanitized, parts, number, runner):
    """Runs PARTS in NUMBER lanes."""

    def run_parts(indices, tell):
        own = Lab(lambda text: tell(("say", f"     {text}")))
        own.kvm_works = lab.kvm_works
        # New ones, because each process has its own reports of the sanitizers.
        tools = [tool.Tool(old.path, old.helpers) for old in (hv, sanitized)]
        lane = Runner(own, tools[0], lambda text: tell(("say", text)), lambda *what: tell(("case", *what)), tools[1])
        try:
            for index in indices:
                lane.run_part(parts[index])
                tell(("over",))
        finally:
            own.close()

    def bury(pid):
        lab.remove_orphans()
        for program in (hv, sanitized):
            end_processes(program, our_names(pid))
        for path in hv.run_dirs(our_names(pid)):
            shutil.rmtree(path, ignore_errors=True)

    for verdict, title in Lanes(parts, number, runner.say, run_parts, bury).run():
        runner.count(verdict, title)


def runs_under_kvm():
    """Returns whether guests run under KVM here. Takes 20 s if /dev/kvm exists but cannot boot Linux."""
    os.makedirs(RUN, mode=0o755, exist_ok=True)
    lab = Lab()
    lab.ask_for_kvm(STANDARD[0])
    return lab.kvm_works


def main(hv_path, patterns, say, list_only=False, lanes=1, all_kernels=False, sanitized_path=None):
    for case_ in CASES:
        case_.use(all_kernels or patterns)
    left_out = sum(len(case_.further) for case_ in CASES)
    cases = [c for c in CASES if any(matches(c, config, patterns) for config in c.configs)]
    if list_only:
        for case_ in cases:
            say(f"{case_.name}: {' '.join((case_.run.__doc__ or '').split())}")
        return 0
    lab = Lab(lambda text: say(f"     {text}"))
    lab.open()
    sanitized = tool.Tool(sanitized_path or hv_path)
    hv = tool.Tool(hv_path, sanitized.helpers)
    runner = Runner(lab, hv, say, sanitized=sanitized)
    parts = parts_of(cases, patterns)
    if lanes > 1 and len(parts) > 1:
        lab.ask_for_kvm(STANDARD[0])
        beside, parts = split(parts)
        run_beside(lab, hv, sanitized, beside, lanes, runner)
    for part in parts:
        runner.run_part(part)
    lab.close()
    for title in runner.failures:
        say(f"failed: {title}")
    if left_out:
        say(f"skip {left_out} slow runs of cases: only --all-kernels runs them")
    say(f"{runner.passed} passed, {runner.failed} failed, {runner.skipped} skipped")
    return 1 if runner.failed else 0
