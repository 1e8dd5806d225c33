#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints pid, thread group and name of every thread of a guest, as `ps` in the guest does, from the memory of its kernel: `ps.py DOMAIN`.
Needs root or the right `memory` of hvtrace.conf(5). It reads while the guest runs: a task that begins or ends at that
moment can be missing, and then others that are on the list after it."""

import sys
from typing import Iterator

import hvtrace

TASKS_MAX = 1 << 22  # PID_MAX_LIMIT of the kernel


def printable(text: str) -> str:
    """A guest chooses the text: it could contain control characters of the terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def tasks(session: hvtrace.Session) -> Iterator[hvtrace.Object]:
    """Walks the lists as for_each_process_thread() of the kernel does."""
    with session.symbols() as symbols:
        first = symbols.address("init_task")
    if not first:
        sys.exit("ps.py: the kernel's symbols lack init_task")
    head = session.object("task_struct", first).address_of("tasks")
    for leader in session.objects(head, "task_struct", "tasks", TASKS_MAX):
        signal = leader.follow("signal")
        if signal:
            yield from session.objects(signal.address_of("thread_head"), "task_struct", "thread_node", TASKS_MAX)


def main(domain: str) -> None:
    with hvtrace.join(domain) as session:
        print("    PID    TGID COMMAND")
        for task in tasks(session):
            print(f"{task['pid']:7} {task['tgid']:7} {printable(str(task['comm']))}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: ps.py DOMAIN")
    try:
        main(sys.argv[1])
    except hvtrace.Error as error:
        sys.exit(f"ps.py: {error.strerror}")
    except KeyError as error:
        sys.exit(f"ps.py: {error.args[0]}")
