"""Waiting for what comes by itself."""

import time


def until(condition, seconds=60, pause=0.1):
    """What CONDITION() gave last: true as soon as it is, something else after SECONDS, which no idle
    machine needs."""
    deadline = time.monotonic() + seconds
    while not (now := condition()) and time.monotonic() < deadline:
        time.sleep(pause)
    return now
