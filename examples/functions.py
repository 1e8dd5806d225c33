#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints the calls of functions of a guest's kernel: `functions.py DOMAIN FUNCTIONS SECONDS`. A line has the contents
of a line of the guest's file `trace`."""

import sys

import hvtrace


def main(domain: str, functions: str, seconds: float) -> None:
    with hvtrace.join(domain) as session, session.symbols() as symbols:
        with session.trace(functions, seconds=seconds) as calls:
            for call in calls:
                name, parent = symbols.name(call.ip), symbols.name(call.parent_ip)
                whole, us = divmod((call.time_ns + 500) // 1000, 1000000)  # rounded, as in `trace`
                time = f"{whole}.{us:06}"
                print(f"{session.task_name(call.pid)}-{call.pid} [{call.cpu:03}] {time}: "
                      f"{name.name if name else '?'} <-{parent.name if parent else '?'}")
            if calls.lost:
                print(f"{calls.lost} calls were lost", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: functions.py DOMAIN FUNCTIONS SECONDS")
    try:
        main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    except hvtrace.Error as error:
        sys.exit(f"functions.py: {error.strerror}")
