# SPDX-License-Identifier: GPL-2.0-or-later
"""Waits for events."""

import os
import select
import time

# A process that has not ended or answered by then hangs. A busy or paused machine was seen to take 39 s.
HANG_SECONDS = 150


def until(condition, seconds=HANG_SECONDS, pause=0.1):
    """Returns what CONDITION() returned last: a true value as soon as there is one, another value after SECONDS."""
    deadline = time.monotonic() + seconds
    while not (now := condition()) and time.monotonic() < deadline:
        time.sleep(pause)
    return now


def said(pipe, words, seconds=HANG_SECONDS):
    """Returns what is read from a pipe until it has WORDS, it ends, or SECONDS are over."""
    text, deadline = b"", time.monotonic() + seconds
    while words.encode() not in text and select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
        if not (data := os.read(pipe.fileno(), 1 << 16)):
            break
        text += data
    return text.decode(errors="replace")
