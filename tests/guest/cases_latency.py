# SPDX-License-Identifier: GPL-2.0-or-later
"""preemptoff, irqsoff and preemptirqsoff: sections with preemption or interrupts off, in kernels that were built
without these tracers."""

import concurrent.futures
import re
import tempfile

from lib.domain import Config
from lib.memory import Memory
from lib.suite import IN_TURN, KERNELS, STANDARD, Skip, case
from lib.wait import HANG_SECONDS, until

# An instruction takes a nanosecond in these guests, so a busy host does not make a section longer.
COUNTED = [Config(kernel, 1, counted=True) for kernel in KERNELS]
PLANTED = 25000  # clock reads in the planted section
TRIES = 10  # because a busy host sometimes stops the guest during a section
CALLED = "ns_to_kernel_old_timeval"  # each read calls this function
HEAD = re.compile(
    r"# tracer: (?P<tracer>\w+)\n#\n# (?P=tracer) latency trace v1.1.5 on (?P<release>\S+)\n# -+\n"
    r"# latency: (?P<us>\d+) us, #(?P<nr>\d+)/(?P=nr), CPU#(?P<cpu>\d+) \| \(M:\S+ VP:0, KP:0, SP:0 HP:0 #P:(?P<cpus>\d+)\)\n"
    r"#    -+\n#    \| task: (?P<comm>.{1,15})-(?P<pid>\d+) \((?P<of>.*)\)\n#    -+\n"
    r"#  => started at: (?P<start>\S+)\n#  => ended at:   (?P<end>\S+)\n#\n#\n"
)
LINE = re.compile(r"^ *(?P<comm>\S+)-(?P<pid>\d+) +(?P<cpu>\d+)\S+ +(?P<us>\d+)us.?: (?P<function>\S+) <-(?P<caller>\S*)$", re.M)

GRAPH_LINE = re.compile(r"^ *\d+ us \| +0\) +planted-\d+ +\|  \S+ \| +(?:[\d.]+ us +)?\|  (.*)$", re.M)


def load_module(t, name, parameters=""):
    """Loads a test module (tests/guest/*_module.c)."""
    if f"{name}.ko" not in t.guest.run("ls /lib").split():
        raise Skip(f"{name}.ko was not built: no headers for this kernel in {t.guest.kernel_dir}/usr/src")
    t.guest.run(f"insmod /lib/{name}.ko {parameters}")


def load_planted(t, parameters=""):
    """Loads the module that plants sections. It stays loaded because a kernel takes time to forget a module."""
    if not re.search("^planted ", t.guest.run("cat /proc/modules"), re.M):
        load_module(t, "planted", parameters)


def plant(t, where, nr=PLANTED, of="", cpu=0):
    """Plants a section and returns its duration as the guest measured it, in microseconds."""
    return int(t.guest.run(f"taskset {1 << cpu:x} planted {where} {nr} {of}").split()[1]) / 1000


def stack(text):
    """Returns the functions on the stack at the section's end, beginning with the caller of the function that ends the
    section."""
    return re.findall(r"^ => (\S+)$", text.partition("<stack trace>\n")[2], re.M)


def longest(traced):
    return int(traced.text("tracing_max_latency"))


def load(t):
    """Makes many short sections: forks, pipes, files, interrupts, softirqs."""
    t.guest.run("for i in $(seq 5); do cat /proc/self/stat | md5sum >/dev/null; echo x >/tmp/x; done; sleep 0.2")


def same_length(found, planted):
    """The guest's measurement begins slightly after the section and ends slightly before it."""
    return planted - 1 <= found <= planted + max(planted / 10, 5)


# Places of sections (planted_module.c), and the functions in which they begin and end, or their callers.
PREEMPT_OFF = (
    ("preempt", r"plant_preempt$", r"plant_preempt$"),
    ("preempt_nested", r"plant_preempt_nested$", r"plant_preempt_nested$"),
    ("softirq", r"plant_softirq$", r"__local_bh_enable_ip$"),
    ("timer", r"hrtimer_start_range_ns|lock_hrtimer_base", r"hrtimer_start_range_ns|do_nanosleep"),
)
IRQ_ENDS = r"(%s|__do_softirq|handle_softirqs|__irq_exit_rcu|preempt_schedule_irq)$"
IRQS_OFF = (
    ("cli", r"plant_cli$", r"plant_cli$"),
    ("irqsave_nested", r"plant_irqsave_nested$", r"plant_irqsave_nested$"),
    ("spin_lock_irq", r"plant_spin_lock_irq$", r"plant_spin_lock_irq$"),
    ("raw_spin_lock_irq", r"plant_raw_spin_lock_irq$", r"plant_raw_spin_lock_irq$"),
    ("softirq_cli", r"plant_cli$", r"plant_cli$"),
    ("interrupt", r"asm_sysvec_irq_work$", IRQ_ENDS % "asm_sysvec_irq_work"),
    ("tick", r"asm_sysvec_apic_timer_interrupt$", IRQ_ENDS % "asm_sysvec_apic_timer_interrupt"),
    ("switch", r"__schedule|schedule", r"finish_task_switch|__schedule"),
    ("timer", r"hrtimer_start_range_ns|lock_hrtimer_base", r"hrtimer_start_range_ns|do_nanosleep"),
)
OTHERS = ("switch", "softirq_cli")  # these may end in another task
SLEEPING = ("softirq", "spin_lock_irq")  # with PREEMPT_RT nothing is off in these


def check_planted(t, traced, where, starts, ends, of="", cpu=0):
    """Plants a section and checks that it is the longest, with its length, its vCPU and both ends. Returns its text."""
    traced.echo("tracing_max_latency", "0")
    planted = plant(t, where, of=of, cpu=cpu)
    found, text = longest(traced), traced.text("trace")
    t.note(f"{where}: planted {planted:.0f} us, found {found} us")
    assert same_length(found, planted), f"{where}: planted {planted} us: {text}"
    head = HEAD.match(text)
    assert head and int(head["us"]) == found and int(head["cpu"]) == cpu, text
    assert where in OTHERS or head["comm"] == "planted", text
    assert re.match(starts, head["start"]) and re.match(ends, head["end"]), f"{where}: {text}"
    return text


def is_realtime(t):
    return bool(re.search(r"PREEMPT_\{?RT", t.guest.run("uname -v")))


def check_places(t, traced, places, of=""):
    """Plants a section at each of PLACES. Returns the text of the last one that is a section in this kernel."""
    realtime = is_realtime(t)
    for where, starts, ends in places:
        if realtime and where in SLEEPING:
            traced.echo("tracing_max_latency", "0")
            planted = plant(t, where, of=of)
            assert longest(traced) < planted / 2, f"{where}: nothing was off: {traced.text('trace')}"
        else:
            text = check_planted(t, traced, where, starts, ends, of=of)
    return text


@case(configs=COUNTED[1:], further=COUNTED[:1])
def preemptoff_finds_planted_sections(t):
    """Sections that the guest times itself, by preempt_disable (nested, too), a lock and a softirq, are the longest,
    with their lengths and both ends, one with its task and its stack. Without them the longest is short, although
    the guest was idle in between. A threshold keeps the last one that is long enough. With function-trace a section
    has all its calls and no others, with display-graph as a graph."""
    load_planted(t)
    inside = where_timers_start(t)
    with t.attach() as traced:
        assert "preemptoff" in traced.text("available_tracers").split()
        traced.echo("current_tracer", "preemptoff")
        assert "preemptoff" in traced.text("available_tracers").split(), "missing while it is on"
        load(t)
        own = longest(traced)
        t.note(f"{own} us before")
        assert own < 1000, f"{own} us before the planted sections: {traced.text('trace')}"
        text = check_places(t, traced, PREEMPT_OFF, of="of")
        head, lines = HEAD.match(text), list(LINE.finditer(text))
        assert len(lines) == 2 and head["nr"] == "3" and int(head["cpus"]) == t.guest.config.vcpus, text
        assert head["of"] == "uid:1000 nice:-3 policy:1 rt_prio:7", text
        assert stack(text)[0] == lines[1]["caller"] and "do_syscall_64" in stack(text), text
        assert abs(int(lines[1]["us"]) - longest(traced)) <= 1, text

        traced.echo("tracing_max_latency", "0")
        load(t)
        assert longest(traced) < 1000, traced.text("trace")

        traced.echo("tracing_thresh", "1000")
        for times in (2, 1):
            planted = plant(t, "preempt", PLANTED * times)
            assert same_length(longest(traced), planted), "with a threshold the last one counts, not the longest"
        traced.echo("tracing_thresh", "0")
        functions_of_a_section(t, traced)
        graph_of_a_section(t, traced, inside)
        traced.echo("current_tracer", "nop")
        assert traced.text("trace_options").split().count("nolatency-format") == 1


def functions_of_a_section(t, traced):
    """With function-trace, the section has the requested number of calls, and not the program's vfs_read before it."""
    calls = PLANTED // 4
    traced.echo("set_ftrace_filter", CALLED, "vfs_read")
    traced.echo("options/function-trace", "1")
    traced.echo("tracing_max_latency", "0")
    load(t)
    plant(t, "timer", calls)
    text = traced.text("trace")
    head, lines = HEAD.match(text), list(LINE.finditer(text))
    called = [line["function"] for line in lines[1:-1]]
    assert called == [CALLED] * calls, text[:4000]
    assert int(head["nr"]) == len(lines) + 1 and {line["comm"] for line in lines} == {"planted"}, text[:4000]
    assert "do_syscall_64" in stack(text), text[:4000]
    times = [int(line["us"]) for line in lines]
    assert times == sorted(times) and times[-1] == int(head["us"]), text[:4000]
    traced.echo("options/function-trace", "0")
    traced.echo("set_ftrace_filter", "")


def where_timers_start(t):
    """Returns enqueue_hrtimer if tasks start timers there according to the guest's own stacks, else None."""
    own = "cd /sys/kernel/tracing; for of in options/stacktrace events/timer/hrtimer_start/enable; do echo %d >$of; done; "
    text = t.guest.run_own(f"{own % 1} sleep 0.1; {own % 0} cat trace; echo >trace")
    stacks = [re.findall(r"^ => (\S+)$", part, re.M) for part in text.split("<stack trace>")[1:]]
    starts = [stack for stack in stacks if "do_nanosleep" in stack]
    assert starts, text
    return "enqueue_hrtimer" if all("enqueue_hrtimer" in stack for stack in starts) else None


def graph_of_a_section(t, traced, inside):
    """As a graph: INSIDE, a kernel function, makes the requested number of calls. None: the function in which the
    section begins makes them."""
    calls = PLANTED // 4
    traced.echo("set_ftrace_filter", CALLED, "enqueue_hrtimer", "vfs_read")
    traced.echo("options/display-graph", "1")
    traced.echo("options/function-trace", "1")
    leaf = "enqueue_hrtimer();"  # it may be called for other timers, too
    flat = [f"{CALLED}();"] * calls
    deep = [f"{inside}() {{", *[f"  {line}" for line in flat], "}"] if inside else flat
    for depth, want in ((0, deep), (1, [] if inside else flat)):
        traced.echo("max_graph_depth", str(depth))
        traced.echo("tracing_max_latency", "0")
        load(t)
        plant(t, "timer", calls)
        text = traced.text("trace")
        shown = GRAPH_LINE.findall(text)[1:-1]
        assert "REL TIME" in text and [line for line in shown if line != leaf] == want, text[:2000] + text[-2000:]
        assert not depth or not inside or leaf in shown, text
        assert "do_syscall_64" in stack(text), text[-1000:]
    traced.echo("max_graph_depth", "0")
    for option in ("options/function-trace", "options/display-graph"):
        traced.echo(option, "0")
    traced.echo("set_ftrace_filter", "")


@case(configs=COUNTED[:1], further=COUNTED[1:])
def irqsoff_finds_planted_sections(t):
    """Sections by cli (also in a softirq), local_irq_save in another one, spin_lock_irq, spin_lock_irqsave, in the
    scheduler and in interrupts are the longest, with their lengths and both ends. Without them none is long,
    although the guest was idle, in user mode and in the kernel in between."""
    load_planted(t)
    with t.attach() as traced:
        assert {"irqsoff", "preemptirqsoff"} <= set(traced.text("available_tracers").split())
        traced.echo("current_tracer", "irqsoff")
        load(t)
        own = longest(traced)
        t.note(f"{own} us before")
        check_places(t, traced, IRQS_OFF)
        traced.echo("tracing_max_latency", "0")
        plant(t, "preempt")  # preemption is off, interrupts are not
        t.guest.run("(while :; do :; done) & sleep 0.2; kill $!; cat /dev/zero >/dev/null & sleep 0.2; kill $!; sleep 1")
        quiet = longest(traced)
        t.note(f"{quiet} us without planted sections")
        assert max(own, quiet) < 1000, traced.text("trace")
        sections = traced.stat()["sections"]
        assert sections["no_begin"] == 0 and sections["refused"] == 0, sections
        t.note(f"{sections['covered']} places covered, {sections['not_covered']} not, {sections['no_end']} without an end")
        traced.echo("current_tracer", "preemptirqsoff")
        check_planted(t, traced, *PREEMPT_OFF[1])
        check_planted(t, traced, *IRQS_OFF[1])
        check_planted(t, traced, "timer", r".*", r".*")
        traced.echo("current_tracer", "nop")


@case(configs=COUNTED[:1], sanitized=True)
def record_prints_the_longest_section(t):
    """record prints the contents of trace_pipe, with the functions of -l in each section, and finally the longest
    section."""
    load_planted(t)
    calls = PLANTED // 10
    with t.attach(), tempfile.TemporaryDirectory() as folder:
        wait = f"while [ ! -e {folder}/end ]; do sleep 0.1; done"
        record = t.hv.start("record", "-p", "preemptoff", "-l", CALLED, t.name, "--", "sh", "-c", wait)
        t.await_record(record, "preemptoff")
        planted = plant(t, "preempt", calls)
        with open(f"{folder}/end", "w", encoding="ascii"):
            pass
        said, summary = (stream.decode() for stream in record.communicate(timeout=HANG_SECONDS))
    assert record.returncode == 0, summary
    events, text = said.split("# tracer: preemptoff\n", 1)
    head = HEAD.match("# tracer: preemptoff\n" + text)
    assert head and head["start"] == head["end"] == "plant_preempt" and head["comm"] == "planted", text[:3000]
    assert same_length(int(head["us"]), planted) and f"the longest section {head['us']} us" in summary, summary
    assert text.count(CALLED) == events.count(CALLED) == calls, f"{events.count(CALLED)}, {text.count(CALLED)}"


@case(configs=COUNTED[:1])
def too_little_covered_is_refused(t):
    """With a module that cannot be covered at all, irqsoff is refused unless attached with --force; check reports that."""
    load_module(t, "uncovered")
    try:
        assert "too few to trust" in t.hv("check", t.name)
        with t.attach():
            t.hv.fails("echo", t.name, "current_tracer", "irqsoff", says=["too few to trust", "attach --force"])
            assert "nop" in t.hv("cat", t.name, "current_tracer")
        with t.attach("--force") as traced:
            traced.echo("current_tracer", "irqsoff")
            load(t)
            assert longest(traced) > 0 and traced.stat()["sections"]["not_covered"] > 400
            traced.echo("current_tracer", "nop")
    finally:
        t.guest.run("rmmod uncovered")


@case(configs=IN_TURN, alone=True)
def a_section_belongs_to_its_vcpu(t):
    """A section planted on one vCPU is that vCPU's longest, and is not in the other vCPU's file."""
    load_planted(t, "tracepoints=0")
    with t.attach() as traced:
        traced.echo("current_tracer", "preemptoff")
        for cpu in (1, 0):
            for _ in range(TRIES):
                traced.echo("tracing_max_latency", "0")
                planted = plant(t, "preempt", PLANTED * 10, cpu=cpu)
                found, head = longest(traced), HEAD.match(traced.text("trace"))
                t.note(f"vCPU {cpu}: planted {planted:.0f} us, found {found} us on {head['cpu']}")
                # A busy host may have stopped the guest in another section, or in this one before it read its clock.
                if head["start"] == "plant_preempt" and same_length(found, planted):
                    break
            assert same_length(found, planted) and int(head["cpu"]) == cpu and head["comm"] == "planted"
            # A busy host may have made another section longer since then.
            assert "plant_preempt" in traced.text(f"per_cpu/cpu{cpu}/trace") or longest(traced) > found
            assert "plant_preempt" not in traced.text(f"per_cpu/cpu{1 - cpu}/trace")
        traced.echo("current_tracer", "nop")


@case(configs=(STANDARD[2],))
def sections_on_and_off_under_load(t):
    """Switched on and off while the guest works. Every byte is restored each time, also after a kill of the service."""
    load_planted(t, "tracepoints=0")  # other cases test the scheduler's places
    t.guest.run("rm -f /tmp/end; while [ ! -e /tmp/end ]; do cat /proc/self/stat | md5sum >/dev/null; done >/dev/null 2>&1 & echo $! >/tmp/load")
    try:
        with t.attach() as traced:
            for tracer, section in (("irqsoff", "cli"), ("preemptirqsoff", "preempt")):
                traced.echo("current_tracer", tracer)
                planted = plant(t, section)
                assert longest(traced) >= planted - 1
                traced.echo("current_tracer", "nop")
            traced.echo("current_tracer", "preemptoff")
        traced = t.attach()
        t.hv("attach", t.name)
        traced.echo("current_tracer", "preemptoff")
        traced.echo("current_tracer", "function")
        traced.echo("current_tracer", "preemptirqsoff")
        traced.kill()
        said = t.recover()
        assert "that led to detours restored" in said, said
        t.note(said.splitlines()[0])
    finally:
        t.guest.run("touch /tmp/end; while [ -d /proc/$(cat /tmp/load) ]; do sleep 0.1; done; rm /tmp/end")


def is_planted_found(t, traced):
    """Returns whether sections of the module are measured, which begins two seconds after loading."""
    traced.echo("tracing_max_latency", "0")
    plant(t, "preempt", PLANTED * 10, cpu=1)
    return "=> started at: plant_preempt\n" in traced.text("trace")


def go_in_a_section(t, traced):
    """A module is asked to unload during a section, which ends after that. hvtrace checks the modules in between.
    Returns the section's duration in microseconds, or None if a busy host made another section longer."""
    load_planted(t, "tracepoints=0")
    assert until(lambda: is_planted_found(t, traced)), traced.text("trace")
    traced.echo("tracing_max_latency", "0")
    open_or_failed = "until grep -q until_gone /proc/planted || [ ! -d /proc/$! ]; do :; done"
    with concurrent.futures.ThreadPoolExecutor() as runs:
        asks = runs.submit(t.guest.run, f"taskset 2 planted until_gone {PLANTED * 40} & {open_or_failed}; rmmod planted; wait $!")
        while not asks.done():
            traced.text("current_tracer")  # each read makes hvtrace check for loaded and unloaded modules
    took = asks.result()
    assert "planted" not in t.guest.run("cat /proc/modules")
    kept, text = longest(traced), traced.text("trace")
    least = int(re.findall(r"until_gone took (\d+) ns", t.guest.run("dmesg"))[-1]) / 1000
    assert kept >= least * 0.99, f"{kept} us, {least} us: {text}"  # measured with two clocks
    if HEAD.match(text)["start"] != "plant_until_gone":
        return None
    assert kept <= int(took.split()[1]) / 1000 * 1.01, f"{kept} us: {took}"
    return kept


@case(configs=IN_TURN[:1], alone=True)
def modules_go_while_sections_are_measured(t):
    """A module is asked to unload during a section, and is unloaded when the section ends. hvtrace keeps the section,
    with the module's names. Another module is loaded at its address and unloaded. When the first module is loaded
    again, its sections are measured again."""
    with t.attach() as traced:
        traced.echo("current_tracer", "preemptoff")
        kept = next(filter(None, (go_in_a_section(t, traced) for _ in range(TRIES))), None)
        assert kept, f"another section is the longest: {traced.text('trace')}"
        t.guest.run("insmod /modules/dummy.ko")
        assert until(lambda: "[dummy]" in traced.text("available_filter_functions")), "the new module was not found"
        head = HEAD.match(traced.text("trace"))
        assert longest(traced) > kept or head["start"] == head["end"] == "plant_until_gone", traced.text("trace")
        t.guest.run("rmmod dummy; for i in 1 2; do insmod /modules/dummy.ko; rmmod dummy; done; insmod /lib/planted.ko tracepoints=0")
        assert longest(traced) >= kept, f"{kept} us, {longest(traced)} us"
        t.note(f"{kept} us, kept although its module was unloaded")
        assert until(lambda: is_planted_found(t, traced)), traced.text("trace")
        assert traced.text("current_tracer") == "preemptoff\n" and traced.stat()["sections"]["refused"] == 0
        traced.echo("current_tracer", "nop")


OWN = "/sys/kernel/tracing"
JUMPS = (0xE8, 0xE9)
# Functions that switch interrupts or preemption, and the number of their bytes to check.
PROBED = {"try_to_wake_up": 200, "get_random_u32": 160, "__local_bh_enable_ip": 100}
# The guest's own ftrace on functions with hvtrace's changes, its tracepoints, a static key, modules with alternatives.
PATCHES = f"""cd {OWN}
echo '_raw_* try_to_* hrtimer_* *_timer' >set_ftrace_filter
echo function >current_tracer; echo 1 >events/sched/enable; echo 1 >/proc/sys/kernel/sched_schedstats
for m in $(cat /modules/order); do insmod /modules/$m.ko; done 2>/dev/null
cat /proc/self/stat | md5sum >/dev/null
for m in $(tac /modules/order); do rmmod $m; done 2>/dev/null
echo nop >current_tracer; echo 0 >events/sched/enable; echo 0 >/proc/sys/kernel/sched_schedstats
echo >set_ftrace_filter; echo >trace; true"""


def bytes_of_probed(t):
    """Returns {(function, offset): byte} of PROBED, read by the host."""
    memory = Memory(t.guest)
    lines = t.guest.run(f"grep -E ' ({'|'.join(PROBED)})$' /proc/kallsyms").splitlines()
    found = {}
    for address, _, name in map(str.split, lines):
        found |= {(name, at): byte for at, byte in enumerate(memory.read_image(int(address, 16), PROBED[name]))}
    memory.close()
    return found


def probe_all(t):
    """Registers a disabled kprobe on each instruction of PROBED that the guest's kernel accepts. Returns their
    number."""
    offsets = "; ".join(
        f"for o in $(seq {end}); do echo p:own/{name}__$o {name}+$o >>kprobe_events; done" for name, end in PROBED.items()
    )
    return int(t.guest.run_own(f"cd {OWN}; {{ {offsets}; }} 2>/dev/null; grep -c own/ kprobe_events"))


def probe_hits(t):
    """Returns {(function, offset): hits of the probe there since it was registered}."""
    said = t.guest.run_own(f"cat {OWN}/kprobe_profile")
    hits = re.findall(r"^ *(\w+)__(\d+) +(\d+) +\d+$", said, re.M)
    assert hits, said
    return {(name, int(at)): int(nr) for name, at, nr in hits}


def hit_probes(t, wanted=frozenset()):
    """Enables the probes, has the functions called until the WANTED ones were hit, and disables them. Returns
    {(function, offset)} of those that were hit."""
    before, found = probe_hits(t), set()
    t.guest.run_own(f"echo 1 >{OWN}/events/own/enable")

    def are_hit():
        load(t)
        plant(t, "softirq", 10)
        found.update(place for place, nr in probe_hits(t).items() if nr > before[place])
        return wanted <= found

    until(are_hit)
    t.guest.run_own(f"echo 0 >{OWN}/events/own/enable")
    return found


def end_probes(t):
    t.guest.run_own(f"cd {OWN}; echo 0 >events/enable; echo >kprobe_events; echo >trace")


@case(configs=IN_TURN[1:], sanitized=True)
def the_guest_patches_itself_while_sections_are_measured(t):
    """The guest uses its own ftrace, tracepoints, static keys and modules while sections are measured, and kprobes on
    each instruction of functions in which hvtrace replaces some instructions. hvtrace does not replace an instruction
    that a kprobe has copied, even if the probe is disabled. If a kprobe has copied hvtrace's jump, the jump stays until
    the probe is removed, and detach waits for that."""
    load_planted(t, "tracepoints=0")
    end_probes(t)
    try:
        with t.attach() as traced:
            for tracer in ("irqsoff", "preemptirqsoff"):
                traced.echo("current_tracer", tracer)
                t.guest.run_own(PATCHES)
                assert traced.text("current_tracer") == f"{tracer}\n", traced.text("error_log")
                traced.echo("current_tracer", "nop")
            was = bytes_of_probed(t)
            before = probe_all(t)
            traced.echo("current_tracer", "preemptirqsoff")
            refused = traced.stat()["sections"]["refused"]
            kept = hit_probes(t)
            # The guest removes the jumps of optimized probes a little later, and frees the probes after that.
            assert refused and until(lambda: bytes_of_probed(t) == was), f"{before} kprobes prevent changes at {refused} places"
            end_probes(t)

            def are_all_covered():
                traced.echo("current_tracer", "nop")
                traced.echo("current_tracer", "preemptirqsoff")
                return traced.stat()["sections"]["refused"] == 0

            assert until(are_all_covered), traced.stat()
            ours = {place for place, byte in bytes_of_probed(t).items() if byte in JUMPS and was[place] not in JUMPS}
            meanwhile = probe_all(t)
            hit = hit_probes(t, kept & ours)
            traced.echo("current_tracer", "nop")
            later = hit_probes(t, kept & ours)  # probes on hvtrace's jumps still lead to detours
            t.note(f"{before} kprobes prevent changes at {refused} places; {meanwhile} kprobes later, {len(ours & hit)} hit on hvtrace's jumps")
            assert kept & ours and kept & ours <= hit & later, f"{kept & ours}, {hit & ours}, {later & ours}"
            t.hv.fails("detach", t.name, says=("kprobe",))
            end_probes(t)

            def is_back():
                traced.echo("current_tracer", "preemptoff")
                traced.echo("current_tracer", "nop")
                return bytes_of_probed(t) == was

            assert until(is_back), "the bytes are not as before"
    finally:
        end_probes(t)
