#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints who opens which file in a guest, by a probe of the kernel function: `opens.py DOMAIN SECONDS`."""

import sys

import hvtrace


def printable(text: str) -> str:
    """A guest chooses the text: it could contain control characters of the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def main(domain: str, seconds: float) -> None:
    with hvtrace.join(domain) as session, session.probe("p do_sys_openat2 path=+0($arg2):ustring") as probe:
        with session.events(probe.event, seconds=seconds) as events:
            for event in events:
                print(f"{event.time_ns / 1e9:.6f} {session.task_name(event.pid)}-{event.pid} {printable(event['path'])}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: opens.py DOMAIN SECONDS")
    try:
        main(sys.argv[1], float(sys.argv[2]))
    except hvtrace.Error as error:
        sys.exit(f"opens.py: {error.strerror}")
