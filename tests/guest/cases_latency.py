# SPDX-License-Identifier: GPL-2.0-or-later
"""preemptoff, irqsoff and preemptirqsoff: sections in which preemption or interrupts are off, measured in kernels that
were built without these tracers."""

import re

from lib.domain import Config
from lib.suite import KERNELS, STANDARD, case

# An instruction takes a nanosecond there, so a busy host does not make a section longer.
COUNTED = [Config(kernel, 1, counted=True) for kernel in KERNELS]
PLANTED = 40000  # times that the planted program reads the clock
PLACE = "bpf_prog_test_run_flow_dissector"
HEAD = re.compile(
    r"# tracer: (?P<tracer>\w+)\n#\n# (?P=tracer) latency trace v1.1.5 on (?P<release>\S+)\n# -+\n"
    r"# latency: (?P<us>\d+) us, #(?P<nr>\d+)/(?P=nr), CPU#(?P<cpu>\d+) \| \(M:\S+ VP:0, KP:0, SP:0 HP:0 #P:(?P<cpus>\d+)\)\n"
    r"#    -+\n#    \| task: (?P<comm>.{1,15})-(?P<pid>\d+) \((?P<of>.*)\)\n#    -+\n"
    r"#  => started at: (?P<start>\S+)\n#  => ended at:   (?P<end>\S+)\n#\n#\n"
)
LINE = re.compile(r"^ *(?P<comm>\S+)-(?P<pid>\d+) +(?P<cpu>\d+)\S+ +(?P<us>\d+)us.?: (?P<function>\S+) <-(?P<caller>\S*)$", re.M)


def plant(t, nr=PLANTED, where="preempt", of=""):
    """Returns how many microseconds the guest says the planted section took."""
    return int(t.guest.run(f"planted {where} {nr} {of}").split()[1]) / 1000


def stack(text):
    """Returns the functions on the stack at the section's end, the caller of the one that ends the section first."""
    return re.findall(r"^ => (\S+)$", text.partition("<stack trace>\n")[2], re.M)


def longest(traced):
    return int(traced.text("tracing_max_latency"))


def load(t):
    """Makes many short sections: forks, pipes, files, interrupts, softirqs."""
    t.guest.run("for i in $(seq 5); do cat /proc/self/stat | md5sum >/dev/null; echo x >/tmp/x; done; sleep 0.2")


def same_length(found, planted):
    """What the guest measures begins a little later and ends a little earlier than the section."""
    return planted - 1 <= found <= planted + max(planted / 10, 5)


@case(configs=COUNTED)
def preemptoff_finds_a_planted_section(t):
    """A section that the guest times itself is the longest, with its length, its task, both ends and its stack;
    without it the longest is short, although the guest was idle meanwhile. A threshold keeps the last one that is long
    enough. With function-trace it has every call that was made in it, and no other."""
    with t.attach() as traced:
        assert "preemptoff" in traced.text("available_tracers").split()
        traced.echo("current_tracer", "preemptoff")
        assert "preemptoff" in traced.text("available_tracers").split(), "also while it is on"
        load(t)
        own = longest(traced)
        planted = plant(t, of="of")
        found, text = longest(traced), traced.text("trace")
        t.note(f"{own} us before, planted {planted:.0f} us, found {found} us")
        assert own * 2 < planted, f"{own} us before the planted section: {text}"
        assert same_length(found, planted), text
        head, lines = HEAD.match(text), list(LINE.finditer(text))
        assert head and len(lines) == 2 and head["nr"] == "3", text
        assert head["of"] == "uid:1000 nice:-3 policy:1 rt_prio:7", text
        assert stack(text)[0] == lines[1]["caller"] and "do_syscall_64" in stack(text), text
        assert int(head["us"]) == found and head["comm"] == "planted" and int(head["cpus"]) == t.guest.config.vcpus
        assert [line["function"] for line in lines] == [PLACE, PLACE], text
        assert head["start"] == head["end"] == PLACE, text
        assert abs(int(lines[1]["us"]) - found) <= 1, text

        traced.echo("tracing_max_latency", "0")
        load(t)
        assert longest(traced) * 2 < planted, traced.text("trace")

        traced.echo("tracing_thresh", f"{int(planted / 2)}")
        for times in (2, 1):
            planted = plant(t, PLANTED * times)
            assert same_length(longest(traced), planted), "with a threshold the last one counts, not the longest"
        traced.echo("tracing_thresh", "0")
        functions_of_a_section(t, traced)
        traced.echo("current_tracer", "nop")
        assert traced.text("trace_options").split().count("nolatency-format") == 1


def functions_of_a_section(t, traced):
    """The planted program calls one function as often as it is told to, and reads of it are elsewhere, too."""
    calls = PLANTED // 4
    traced.echo("set_ftrace_filter", "bpf_*", "vfs_read")
    traced.echo("options/function-trace", "1")
    traced.echo("tracing_max_latency", "0")
    load(t)
    plant(t, calls)
    text = traced.text("trace")
    head, lines = HEAD.match(text), list(LINE.finditer(text))
    called = [line["function"] for line in lines[1:-1]]
    assert called.count("bpf_ktime_get_ns") == calls and "vfs_read" not in called, text[:4000]
    assert int(head["nr"]) == len(lines) + 1 and {line["comm"] for line in lines} == {"planted"}, text[:4000]
    assert [lines[0]["function"], lines[-1]["function"]] == [PLACE, PLACE] and "do_syscall_64" in stack(text), text[:4000]
    times = [int(line["us"]) for line in lines]
    assert times == sorted(times) and times[-1] == int(head["us"]), text[:4000]
    traced.echo("options/function-trace", "0")
    traced.echo("set_ftrace_filter", "")


# Where interrupts are off in planted.c, and the functions in which the section begins and ends, or their callers.
IRQS_OFF = (
    ("switch", r"__schedule|schedule", r"finish_task_switch|__schedule"),
    ("timer", r"hrtimer_start_range_ns|lock_hrtimer_base", r"hrtimer_start_range_ns|do_nanosleep"),
    ("irq", r"asm_sysvec_apic_timer_interrupt", r"asm_sysvec_apic_timer_interrupt|__do_softirq|handle_softirqs|__irq_exit_rcu"),
)


def check_planted(t, traced, where, starts, ends):
    """Plants a section and checks that it is the longest one, with its length and both ends."""
    traced.echo("tracing_max_latency", "0")
    planted = plant(t, where=where)
    found, text = longest(traced), traced.text("trace")
    t.note(f"{where}: planted {planted:.0f} us, found {found} us")
    assert same_length(found, planted), f"planted {planted} us: {text}"
    head = HEAD.match(text)
    assert head and int(head["us"]) == found, text
    assert where == "switch" or head["comm"] == "planted", text  # that one ends in the next task
    assert re.match(starts, head["start"]) and re.match(ends, head["end"]), text


@case(configs=COUNTED)
def irqsoff_finds_planted_sections(t):
    """Sections by cli, spin_lock_irqsave and in an interrupt are the longest, with their lengths and both ends; without
    them none is long, although the guest was idle, in user mode and in the kernel meanwhile."""
    with t.attach() as traced:
        assert {"irqsoff", "preemptirqsoff"} <= set(traced.text("available_tracers").split())
        traced.echo("current_tracer", "irqsoff")
        load(t)
        own = longest(traced)
        t.note(f"{own} us before")
        for where, starts, ends in IRQS_OFF:
            check_planted(t, traced, where, starts, ends)
        traced.echo("tracing_max_latency", "0")
        plant(t)  # preemption is off, interrupts are not
        t.guest.run("timeout 1 sh -c 'while :; do :; done'; timeout 1 cat /dev/zero >/dev/null; sleep 1; true")
        quiet = longest(traced)
        t.note(f"{quiet} us without")
        assert max(own, quiet) < 1000, traced.text("trace")
        sections = traced.stat()["sections"]
        assert sections["no_begin"] == 0 and sections["refused"] == 0, sections
        t.note(f"{sections['covered']} places covered, {sections['not_covered']} not, {sections['no_end']} without an end")
        traced.echo("current_tracer", "preemptirqsoff")
        check_planted(t, traced, "preempt", ".*", ".*")
        check_planted(t, traced, *IRQS_OFF[1])
        traced.echo("current_tracer", "nop")


@case(configs=(STANDARD[0], STANDARD[3]))
def sections_on_and_off_under_load(t):
    """Switched on and off while the guest works; every byte is back each time, also when the service is killed."""
    t.guest.run("while [ ! -e /tmp/end ]; do cat /proc/self/stat | md5sum >/dev/null; done >/dev/null 2>&1 &")
    try:
        with t.attach() as traced:
            for tracer in ("preemptoff", "irqsoff", "preemptirqsoff"):
                traced.echo("current_tracer", tracer)
                # A busy vCPU takes seconds for it: the kernel waits before it frees the program.
                planted = plant(t) if tracer == "preemptirqsoff" else 0
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
        t.guest.run("touch /tmp/end; sleep 1; rm /tmp/end")
