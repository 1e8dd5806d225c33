# SPDX-License-Identifier: GPL-2.0-or-later
"""Commands in a guest, over a unix socket to its second serial port.

tests/guest/init is the guest's end. domain.py boots the guest."""

import base64
import gzip
import select
import socket
import time


RUN_SECONDS = 110  # limits the cost of a hang; the longest command takes about ten seconds
LOOK_SECONDS = 5


class GuestDead(Exception):
    """The guest did not answer in time, or its channel is closed."""


class Failed(Exception):
    """A command in the guest exited with a status other than 0."""


class Channel:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.pending = b""
        self.next_id = 0
        self.dead = None  # the reason why no more commands are sent
        self.look = lambda: None  # called while waiting for an answer: returns the reason why none will come

    def close(self):
        self.socket.close()

    def _line(self, deadline):
        while b"\n" not in self.pending:
            left = deadline - time.monotonic()
            if left <= 0:
                raise GuestDead("no answer")
            if not select.select([self.socket], [], [], min(left, LOOK_SECONDS))[0]:
                if left > LOOK_SECONDS and (why := self.look()):
                    raise GuestDead(why)
                continue
            data = self.socket.recv(1 << 16)
            if not data:
                raise GuestDead("channel closed")
            self.pending += data
        line, self.pending = self.pending.split(b"\n", 1)
        return line.strip()

    def wait_boot(self, timeout):
        """Waits until a booting guest reports that it listens. Sends nothing before that.

        QEMU's serial port accepts a byte before the guest has opened it and then stops reading the socket. The
        guest's driver drops that byte by resetting the FIFO, but this does not wake QEMU's main loop: it sleeps, and
        later data stays in the socket until something else wakes it."""
        deadline = time.monotonic() + timeout
        try:
            while self._line(deadline) != b"ready":
                pass
        except GuestDead as dead:
            raise GuestDead(f"not ready after {timeout} s: {dead}") from None

    def wait_ready(self, timeout):
        """Sends empty lines until a guest that booted earlier answers that it listens."""
        deadline = time.monotonic() + timeout
        while True:
            if time.monotonic() > deadline:
                raise GuestDead(f"not ready after {timeout} s")
            self.socket.sendall(b"\n")
            try:
                while self._line(min(deadline, time.monotonic() + 0.5)) != b"ready":
                    pass
                return
            except GuestDead as dead:
                if "closed" in str(dead):
                    raise

    def ask(self, seconds):
        """Sends an empty line, which a listening guest answers with "ready". Returns the data received in that time."""
        self.socket.sendall(b"\n")
        return self.listen(seconds)

    def listen(self, seconds):
        """Returns the end of the data received within that time."""
        deadline = time.monotonic() + seconds
        while select.select([self.socket], [], [], max(0, deadline - time.monotonic()))[0]:
            if not (data := self.socket.recv(1 << 16)):
                break
            self.pending += data
        return self.pending[-100:]

    def run(self, command, timeout=RUN_SECONDS):
        """Returns (status, output as bytes) of a shell command. If one is not answered, later ones are not sent."""
        if self.dead:
            raise GuestDead(f"dead since an earlier command: {self.dead}")
        try:
            return self.answer(self.send(command), timeout)
        except (GuestDead, OSError) as dead:
            self.dead = str(dead) or type(dead).__name__
            raise GuestDead(self.dead) from None

    def send(self, command):
        """Sends a command after which the guest may be asleep or gone. Returns the tag of its answer."""
        self.next_id += 1
        tag = b"%d" % self.next_id
        self.socket.sendall(tag + b" " + base64.b64encode(command.encode()) + b"\n")
        return tag

    def answer(self, tag, timeout):
        """Waits for the answer to send(). Returns a result like run()."""
        deadline = time.monotonic() + timeout
        while True:
            words = self._line(deadline).split()
            if len(words) == 3 and words[:2] == [b"begin", tag]:
                status = int(words[2])
                break
        body = []
        while (line := self._line(deadline)) != b"end " + tag:
            if line != b"ready":  # repeated until the first command
                body.append(line)
        return status, gzip.decompress(base64.b64decode(b"".join(body)))
