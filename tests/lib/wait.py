# SPDX-License-Identifier: GPL-2.0-or-later
import os
import select
import time

# A process that has not ended or answered by then hangs. A busy or paused machine has taken up to 39 s.
HANG_SECONDS = 150


def until(condition, seconds=HANG_SECONDS, pause=0.1):
    """Calls CONDITION() until it returns a true value or SECONDS have passed. Returns its last result."""
    deadline = time.monotonic() + seconds
    while not (now := condition()) and time.monotonic() < deadline:
        time.sleep(pause)
    return now


def said(pipe, words, seconds=HANG_SECONDS):
    """Reads from a pipe until the data contains WORDS, the pipe ends, or SECONDS have passed. Returns the data."""
    text, deadline = b"", time.monotonic() + seconds
    while words.encode() not in text and select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
        if not (data := os.read(pipe.fileno(), 1 << 16)):
            break
        text += data
    return text.decode(errors="replace")
