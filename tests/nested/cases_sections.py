# SPDX-License-Identifier: GPL-2.0-or-later
"""preemptoff, irqsoff and preemptirqsoff on KVM, and in machines of `hvtrace run`. The nested host's own CPUs are taken
away now and then, which software in it cannot see, so the planted sections are longer than that."""

import re

from cases_latency import HEAD, TRIES, longest, same_length
from cases_own import ends_well, healthy
from lib.own import OwnMachine
from lib.suite import OWN_GUESTS, STANDARD, case
from lib.tool import Traced

READS = 1000000  # of the clock, which take about half a second
PLACES = (("preemptoff", "preempt"), ("irqsoff", "cli"), ("preemptirqsoff", "irqsave_nested"))
STOLEN = re.compile(r"^#  => not run by the host: (\d+) us more\n", re.M)


def check_planted(t, traced, guest, where):
    """Plants a section, again if the host has made another one longer, and checks its length, task and both ends."""
    for _ in range(TRIES):
        traced.echo("tracing_max_latency", "0")
        planted = int(guest.run(f"planted {where} {READS}").split()[1]) / 1000
        found, text = longest(traced), traced.text("trace")
        stolen = sum(int(us) for us in STOLEN.findall(text))
        head = HEAD.match(STOLEN.sub("", text))
        if head and head["comm"] == "planted":
            break
    t.note(f"{where}: planted {planted:.0f} us, found {found} us and {stolen} us that the host did not run it")
    assert head and head["start"] == head["end"] == f"plant_{where}" and head["comm"] == "planted", text
    assert same_length(found + stolen, planted), text


def check_tracers(t, traced, guest):
    """Each tracer, switched on and off, finds its planted section."""
    guest.run("insmod /lib/planted.ko tracepoints=0")
    for tracer, where in PLACES:
        traced.echo("current_tracer", tracer)
        check_planted(t, traced, guest, where)
        sections = traced.stat()["sections"]
        t.note(f"{tracer}: {sections['covered']} places covered, {sections['not_covered']} not")
        assert sections["refused"] == 0, sections
        traced.echo("current_tracer", "nop")


@case(configs=STANDARD[:1])
def sections_on_kvm(t):
    """Planted sections of a guest on KVM are the longest ones, with their lengths and both ends."""
    with t.attach() as traced:
        check_tracers(t, traced, t.guest)


@case(configs=OWN_GUESTS)
def own_sections(t):
    """Planted sections of an `hvtrace run` machine are the longest ones."""
    with OwnMachine(t.hv, "bookworm", "--smp", "2") as m:
        m.wait_attached()
        check_tracers(t, Traced(t.hv, m.name), m)
        assert "no changes by hvtrace left" in t.hv("detach", m.name)
        assert m.run("echo alive").startswith("alive")
        healthy(m)
        ends_well(m)
