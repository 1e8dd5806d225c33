#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints how long functions of a guest's kernel take, and how often they fail: `latency.py DOMAIN FUNCTIONS SECONDS`."""

import collections
import sys

import hvtrace

MAX_ERRNO = 4095


def has_failed(value: int) -> bool:
    """The kernel returns -errno, as an int or as a long."""
    return value >= (1 << 64) - MAX_ERRNO or (1 << 32) - MAX_ERRNO <= value < 1 << 32


def main(domain: str, functions: str, seconds: float) -> None:
    durations, failed = collections.defaultdict(list), collections.Counter()
    with hvtrace.join(domain) as session, session.symbols() as symbols:
        with session.graph(functions, seconds=seconds, files={"options/funcgraph-retval": "1"}) as records:
            for graph in records:
                if graph.is_return:
                    durations[graph.ip].append(graph.duration_ns)
                    failed[graph.ip] += has_failed(graph.return_value)
            if records.lost:
                print(f"{records.lost} calls and returns were lost", file=sys.stderr)
        print(f"{'calls':>8} {'failed':>8} {'median us':>12} {'longest us':>12} function")
        for ip, times in sorted(durations.items(), key=lambda item: -sum(item[1])):
            times.sort()
            print(f"{len(times):8} {failed[ip]:8} {times[len(times) // 2] / 1000:12.3f} {times[-1] / 1000:12.3f} {symbols.name(ip)}")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: latency.py DOMAIN FUNCTIONS SECONDS")
    try:
        main(sys.argv[1], sys.argv[2], float(sys.argv[3]))
    except hvtrace.Error as error:
        sys.exit(f"latency.py: {error.strerror}")
