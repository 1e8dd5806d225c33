"""Waiting for what comes by itself."""

import os
import select
import time

# Whoever has not ended or answered by then hangs: a machine that is busy, or paused itself, was seen to take 39 s.
HANG_SECONDS = 150


def until(condition, seconds=HANG_SECONDS, pause=0.1):
    """What CONDITION() gave last: true as soon as it is, something else after SECONDS."""
    deadline = time.monotonic() + seconds
    while not (now := condition()) and time.monotonic() < deadline:
        time.sleep(pause)
    return now


def said(pipe, words, seconds=HANG_SECONDS):
    """What comes of a pipe until WORDS are in it, it ends, or SECONDS are over."""
    text, deadline = b"", time.monotonic() + seconds
    while words.encode() not in text and select.select([pipe], [], [], max(0, deadline - time.monotonic()))[0]:
        if not (data := os.read(pipe.fileno(), 1 << 16)):
            break
        text += data
    return text.decode(errors="replace")
