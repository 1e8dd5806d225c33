# SPDX-License-Identifier: GPL-2.0-or-later
"""A hostile guest: a process that writes into the guest's memory and into the region, as the guest itself could, all
the time while hvtrace reads them.

It writes only memory that the guest does not use in this time, or values that cannot harm it: hvtrace must survive,
and the proof after a slice still holds. At its end the process restores the overwritten words that the guest has not
changed since."""

import os
import random
import re
import signal
import struct
import time
import traceback

from lib.memory import PAGE, Memory

DISTINCT = 20000  # maximum number of overwritten words
TOKENS = b"".join(bytes((ord("0") + i, 0)) for i in range(10))  # of kallsyms: each digit is a token
NAMES_BYTES = 3 << 19  # at least this many bytes before the tokens belong to kallsyms, too
SYMBOLS = ("__start_BTF", "__stop_BTF", "__start_orc_unwind", "__stop_orc_unwind", "__start_orc_unwind_ip", "__stop_orc_unwind_ip",
           "__start_rodata", "__end_rodata", "ftrace_events", "modules", "level2_fixmap_pgt")  # fmt: skip
SLOTS = range(256, 504)  # of level2_fixmap_pgt: where the region may be (docs/internals/ring.md)
STATES_OFF, MAP_OFF, JOURNAL_END = 0x500000, 0x400000, 0x400000
RECORD = 32
STATE = 320  # length of a state in bytes; its ring follows


class Span:
    """LENGTH bytes at OFFSET of a file. FREE: overwrite only words that are 0, or that this process wrote."""

    def __init__(self, file, offset, length, free=False):
        self.file, self.offset, self.length, self.free = file, offset, length, free


class Guest:
    """Uses the guest's own symbols to find the data to overwrite."""

    def __init__(self, domain):
        self.memory = Memory(domain)
        self.file = f"/proc/{domain.pid}/mem"
        said = domain.run(f"grep -E ' ({'|'.join(SYMBOLS)})$' /proc/kallsyms")
        self.at = {m[2]: int(m[1], 16) for m in re.finditer(r"^([0-9a-f]{16}) . (\w+)$", said, re.M)}

    def close(self):
        self.memory.close()

    def _span(self, gpa, length, free=False):
        return Span(self.file, self.memory.base + gpa, length, free)

    def _image(self, start, stop):
        return [self._span(self.memory.image_gpa(self.at[start]), self.at[stop] - self.at[start])]

    def _word(self, gva):
        return struct.unpack("<Q", self.memory.read_gpa(self.memory.walk(gva), 8))[0]

    def _list(self, head, most):
        """Returns the addresses of the links of a kernel list."""
        found, at = [], self._word(head)
        while at != head and len(found) < most:
            found.append(at)
            at = self._word(at)
        return found

    def symbols(self):
        start = self.at["__start_rodata"]
        data = self.memory.read_image(start, self.at["__end_rodata"] - start)
        found = data.find(TOKENS, NAMES_BYTES)
        assert found >= 0, "no kallsyms"
        return [self._span(self.memory.image_gpa(start) + found - NAMES_BYTES, NAMES_BYTES + len(TOKENS) + 512)]

    def types(self):
        return self._image("__start_BTF", "__stop_BTF")

    def unwind_tables(self):
        return self._image("__start_orc_unwind", "__stop_orc_unwind") + self._image("__start_orc_unwind_ip", "__stop_orc_unwind_ip")

    def event_calls(self):
        """The fields of struct trace_event_call after its list_head: class, name, print_fmt, flags."""
        links = self._list(self.at["ftrace_events"], 2000)
        return [self._span(self.memory.walk(link) + 16, 96) for link in random.sample(links, min(60, len(links)))]

    def event_texts(self):
        """The texts that words of struct trace_event_call point to."""
        found = []
        for link in random.sample(self._list(self.at["ftrace_events"], 2000), 60):
            for word in struct.unpack("<12Q", self.memory.read_gpa(self.memory.walk(link) + 16, 96)):
                gpa = self.memory.walk(word) if word >> 32 == 0xFFFFFFFF else None
                if self.at["__start_rodata"] <= word < self.at["__end_rodata"] and gpa is not None:
                    found.append(self._span(gpa & ~7, 64))
        return found

    def module(self):
        """The newest struct module, after its name: its tables are not in use."""
        link = self._list(self.at["modules"], 1)
        return [self._span(self.memory.walk(at + off), 8) for at in link for off in range(16, 0x340, 8)]

    def slots(self):
        table = self.memory.image_gpa(self.at["level2_fixmap_pgt"])
        return [self._span(table + 8 * SLOTS.start, 8 * len(SLOTS), free=True)]


class Region:
    """The memory that a guest can access through the ivshmem device: the whole region."""

    def __init__(self, domain):
        self.path = f"/dev/shm/{domain.name}"
        self.vcpus = domain.config.vcpus
        with open(self.path, "rb") as file:
            header = file.read(PAGE)
            self.map_gva = struct.unpack_from("<Q", header, 24)[0]
            file.seek(STATES_OFF)
            gvas = struct.unpack(f"<{self.vcpus}Q", file.read(8 * self.vcpus))
            self.states = [gva - self.map_gva + MAP_OFF for gva in gvas]

    def journal(self):
        return [Span(self.path, 0, JOURNAL_END)]

    def rings(self):
        length = self.states[1] - self.states[0] - STATE
        return [Ring(self.path, at, at + STATE, length) for at in self.states]


class Ring(Span):
    """A ring of 2^n bytes at OFFSET; its head is at HEAD."""

    def __init__(self, path, head, offset, length):
        super().__init__(path, offset, length)
        self.head = head


def a_value(rng, file, span, at):
    """Returns a value that looks right, nearly right, or wrong."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.getrandbits(64)
    if kind == 1:
        return rng.choice((0, 1, 2, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, (1 << 64) - 1, 0xFFFF888000000000))
    now = int.from_bytes(os.pread(file, 8, at), "little")
    if kind == 2:
        return now ^ 1 << rng.randrange(64)
    if kind == 3:
        return (now + rng.choice((-8, -1, 1, 8, 4096))) % (1 << 64)
    other = span.offset + rng.randrange(max(1, span.length // 8)) * 8
    found = int.from_bytes(os.pread(file, 8, other), "little")
    return found if kind == 4 else (now & 0xFFFFFFFF00000000) | (found & 0xFFFFFFFF)


class Overwriting:
    """Writes words, and saves their previous values."""

    def __init__(self, spans):
        self.spans = spans
        self.weights = [span.length for span in spans]
        self.files = {span.file: os.open(span.file, os.O_RDWR) for span in spans}
        self.was = {}  # (file, offset) -> (previous value, last written value)

    def _choose(self, rng):
        if len(self.was) >= DISTINCT or (self.was and rng.random() < 0.2):
            return rng.choice(list(self.was)[:100])
        (span,) = rng.choices(self.spans, self.weights)
        return span, span.offset + rng.randrange(span.length // 8) * 8

    def write(self, rng):
        span, at = self._choose(rng)
        file = self.files[span.file]
        now = int.from_bytes(os.pread(file, 8, at), "little")
        was, last = self.was.get((span, at), (now, now))
        if span.free and now not in (0, last):
            return
        value = a_value(rng, file, span, at)
        self.was[span, at] = (was, value)
        os.pwrite(file, value.to_bytes(8, "little"), at)

    def put_back(self):
        for (span, at), (was, last) in self.was.items():
            file = self.files[span.file]
            if int.from_bytes(os.pread(file, 8, at), "little") == last:
                os.pwrite(file, was.to_bytes(8, "little"), at)


class Ringing:
    """Writes modified copies of records near the head of a ring, and sometimes a false head. Restores nothing."""

    def __init__(self, rings):
        self.rings = rings
        self.file = os.open(rings[0].file, os.O_RDWR)

    @staticmethod
    def key(position, ring):
        """Returns the key of the record at POSITION, in bytes as a head counts them (docs/internals/ring.md)."""
        return (position << 63 - ring.length.bit_length()) % (1 << 64)

    def _record(self, ring, position):
        words = struct.unpack("<4Q", os.pread(self.file, RECORD, ring.offset + position % ring.length))
        return [word ^ self.key(position, ring) for word in words]

    def write(self, rng):
        ring, other = rng.choice(self.rings), rng.choice(self.rings)
        (head,) = struct.unpack("<Q", os.pread(self.file, 8, ring.head))
        near = (head - RECORD * rng.randrange(-64, 2048)) % (1 << 64)
        if rng.random() < 0.002:
            head = rng.choice((rng.getrandbits(64), near, 0, (1 << 64) - RECORD, head + ring.length))
            os.pwrite(self.file, (head % (1 << 64) & ~(RECORD - 1)).to_bytes(8, "little"), ring.head)
            return
        record = self._record(other, (near + RECORD * rng.randrange(-64, 64)) % (1 << 64))
        for _ in range(rng.randrange(3)):
            record[rng.randrange(4)] ^= rng.choice((1 << rng.randrange(62), rng.getrandbits(62), rng.getrandbits(16)))
        key = self.key(near, ring)
        words = [word % (1 << 62) ^ key for word in record]
        os.pwrite(self.file, struct.pack("<4Q", *words), ring.offset + near % ring.length)

    def put_back(self):
        pass


class Liar:
    """Writes in another process as long as the `with` block runs."""

    def __init__(self, how, rng):
        self.how, self.seed = how, rng.random()

    def _main(self):
        over = []
        signal.signal(signal.SIGTERM, lambda *_: over.append(True))
        rng = random.Random(self.seed)
        while not over:
            for _ in range(50):
                self.how.write(rng)
            time.sleep(0.001)
        self.how.put_back()

    def __enter__(self):
        self.pid = os.fork()
        if not self.pid:
            status = 1
            try:
                self._main()
                status = 0
            except Exception:  # noqa: BLE001 - otherwise the error would be lost
                traceback.print_exc()
            os._exit(status)
        return self

    def __exit__(self, *_):
        os.kill(self.pid, signal.SIGTERM)
        _, status = os.waitpid(self.pid, 0)
        assert status == 0, "the process that writes has failed"
