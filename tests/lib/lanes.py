# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs the parts of a suite in parallel: each lane is a process with separate guests, which runs one part after the
other. The output is in the order of the parts. Lines of the earliest unfinished part appear immediately. The totals
are the same as with one lane. If a lane dies, the cases of its part without a verdict fail, and another lane runs the
next part.

suite.py defines a part and runs it."""

import collections
import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
import traceback

PR_SET_PDEATHSIG = 1


class Told:
    """The output of a part: its lines, and the verdict on each case that has ended."""

    def __init__(self, part):
        self.part = part
        self.lines = []
        self.verdicts = []  # (verdict, title)
        self.is_over = False


class Lane:
    """The parent's end of a lane."""

    def __init__(self, run_parts, others):
        """The new process calls RUN_PARTS(parts, tell). PARTS yields indices. `tell` sends any JSON value to the parent.
        OTHERS are the other lanes; the new process must close their sockets."""
        self.told = None  # of its current part
        self.pending = b""
        self.socket, other = socket.socketpair()
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            for lane in (self, *others):
                lane.socket.close()
            _be_lane(other, parent, run_parts)
        other.close()

    def fileno(self):
        return self.socket.fileno()

    def run(self, index, told):
        self.told = told
        with contextlib.suppress(OSError):  # the lane has died; the next read() reports it
            self.socket.sendall(b"%d\n" % index)

    def read(self):
        """Returns the messages received so far, or None if it has died."""
        try:
            data = self.socket.recv(1 << 16)
        except OSError:
            data = b""
        *lines, self.pending = (self.pending + data).split(b"\n")
        return [json.loads(line) for line in lines] if data else None

    def end(self):
        """Closes the socket, so that the lane runs no more parts. Returns how the lane ended."""
        self.socket.close()
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        return f"signal {-code}" if code < 0 else f"status {code}"


def _be_lane(end, parent, run_parts):
    """Never returns, so that the parent's cleanup is not run here."""
    status = 1
    try:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

        def tell(what):
            end.sendall(json.dumps(what).encode() + b"\n")

        with end.makefile("r", encoding="ascii") as lines:
            run_parts((int(line) for line in lines), tell)
        status = 0
    except SystemExit as ended:  # after a signal; its guests are removed
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001 - the parent reports the cases without a verdict
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


class Lanes:
    """`run()` runs all PARTS and returns [(verdict, title)] of their cases, whose titles are .titles()."""

    def __init__(self, parts, number, say, run_parts, bury):
        """BURY(pid) removes the leftovers of a dead lane."""
        self.told = [Told(part) for part in parts]
        self.waiting = collections.deque(range(len(parts)))
        self.number = number
        self.say, self.run_parts, self.bury = say, run_parts, bury
        self.lanes = []
        self.shown = 0  # parts shown completely

    def run(self):
        try:
            while self.waiting or self.lanes:
                while self.waiting and len(self.lanes) < self.number:
                    self.lanes.append(Lane(self.run_parts, self.lanes))
                    self._next_part(self.lanes[-1])
                for lane in select.select(self.lanes, [], [])[0]:
                    self._hear(lane)
        finally:
            self._end()
        return [verdict for told in self.told for verdict in told.verdicts]

    def _next_part(self, lane):
        if self.waiting:
            index = self.waiting.popleft()
            lane.run(index, self.told[index])
        else:
            self.lanes.remove(lane)
            lane.end()

    def _hear(self, lane):
        messages = lane.read()
        if messages is None:
            self.lanes.remove(lane)
            self._mourn(lane)
            return
        for kind, *what in messages:
            if kind == "say":
                lane.told.lines.append(what[0])
            elif kind == "case":
                lane.told.verdicts.append(tuple(what))
            else:
                lane.told.is_over = True
        is_free = lane.told.is_over
        self._show()
        if is_free:
            self._next_part(lane)

    def _mourn(self, lane):
        how, told = lane.end(), lane.told
        known = {title for _, title in told.verdicts}
        for title in told.part.titles():
            if title not in known:
                told.verdicts.append(("FAIL", title))
                told.lines.append(f"FAIL {title}\n       its lane of the suite has ended with {how}")
        told.is_over = True
        self.bury(lane.pid)
        self._show()

    def _show(self):
        while self.shown < len(self.told):
            told = self.told[self.shown]
            for line in told.lines:
                self.say(line)
            told.lines.clear()
            if not told.is_over:
                return
            self.shown += 1

    def _end(self):
        """After an interruption, ends the lanes, which remove their guests, and shows their output."""
        for lane in self.lanes:
            with contextlib.suppress(OSError):
                os.kill(lane.pid, signal.SIGTERM)
        for lane in self.lanes:
            while (messages := lane.read()) is not None:
                lane.told.lines += [what for kind, *rest in messages if kind == "say" for what in rest]
            lane.end()
            self.bury(lane.pid)
        for told in self.told[self.shown :] if self.lanes else ():
            for line in told.lines:
                self.say(line)
        self.lanes.clear()
