#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints where in the kernel the tasks of a guest go to sleep, the most frequent places first: `sleepers.py DOMAIN
SECONDS`."""

import collections
import sys
import time

import hvtrace

CALLERS = 8


def main(domain: str, seconds: float) -> None:
    sleeps: collections.Counter = collections.Counter()
    switches = {}  # the last switch on each vCPU

    def take_event(event: hvtrace.Event) -> None:
        switches[event.cpu] = event

    def take_stack(stack: hvtrace.Stack) -> None:
        event = switches.pop(stack.cpu, None)
        if event and event.pid == stack.pid:
            sleeps[event["prev_comm"], stack.callers[:CALLERS]] += 1

    end = time.monotonic() + seconds
    with hvtrace.join(domain) as session, session.symbols() as symbols:
        files = {"events/sched/sched_switch/filter": "prev_state != 0 && prev_pid != 0"}
        with session.register_events("sched:sched_switch", take_event, files=files, stack=take_stack):
            while (left := end - time.monotonic()) > 0:
                if session.wait(left):
                    session.dispatch()
        for (name, callers), nr in sleeps.most_common():
            print(f"{nr} {''.join(c if c.isprintable() else '?' for c in name)}")
            for caller in callers:
                print(f"    {symbols.name(caller) or hex(caller)}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: sleepers.py DOMAIN SECONDS")
    try:
        main(sys.argv[1], float(sys.argv[2]))
    except hvtrace.Error as error:
        sys.exit(f"sleepers.py: {error.strerror}")
