# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads a guest's memory from outside without any code of hvtrace. Compares the text and the page-table entries before
and after a case, and finds the origin of each difference.

Physical addresses come from the guest's /proc/iomem and /proc/kallsyms, bytes from /proc/PID/mem of QEMU at the
address its monitor gives. Works for guests with at most 3 GiB (one block of RAM)."""

import bisect
import os
import re
import struct

PAGE = 4096
LARGE = 2 << 20
FRAME = 0x000FFFFFFFFFF000
WANTED = (
    "_text", "_etext", "klp_transition_patch", "init_top_pgt", "level3_kernel_pgt", "level2_kernel_pgt", "level2_fixmap_pgt",
    "__start___jump_table", "__stop___jump_table",
    "__start_static_call_sites", "__stop_static_call_sites",
    "__start_static_call_tramp_key", "__stop_static_call_tramp_key",
)  # fmt: skip
ACCESSED_DIRTY = 0x60  # set by the CPU


def tokens_of_names(data, digits, wanted):
    """Returns the offsets in DATA of the last tokens of the names WANTED. DIGITS: offset of the tokens 0 to 9 of what may be
    the kernel's kallsyms_token_table."""
    table = digits
    for _ in range(ord("0")):
        table = data.rindex(b"\0", 0, table - 1) + 1
    tokens = data[table : table + 16384].split(b"\0")[:256]
    if tokens[ord("q")] != b"q" or not any(len(token) > 3 for token in tokens):
        return []
    first = [i for i, token in enumerate(tokens) if token[:1].isalpha() and any(name.startswith(token[1:]) for name in wanted)]
    entry = re.compile(b"(?=[\x02-\x40][" + b"".join(re.escape(bytes((i,))) for i in first) + b"])", re.S)
    found = []
    for match in entry.finditer(data, 0, table):
        at = match.start()
        if b"".join(tokens[token] for token in data[at + 1 : at + 1 + data[at]])[1:] in wanted:
            found.append(at + data[at])
    return found


class Memory:
    def __init__(self, domain):
        self.domain = domain
        hva = re.search(r"is (0x[0-9a-f]+)", domain.monitor("gpa2hva 0x100000"))
        self.file = os.open(f"/proc/{domain.pid}/mem", os.O_RDONLY)
        self.base = int(hva[1], 16) - 0x100000
        boot = domain.run("cat /proc/sys/kernel/random/boot_id")
        if getattr(domain, "places", (None,))[0] != boot:  # reading kallsyms takes seconds in a nested guest
            domain.places = (boot, *self._places())
        _, self.symbols, self.trampolines, self.code_gpa = domain.places

    def _places(self):
        """Returns (symbols, static call trampolines, physical address of the code) of this boot."""
        pattern = "|".join(WANTED)
        lines = self.domain.run(f"grep -E ' ({pattern}|__SCT__.*)$' /proc/kallsyms; grep 'Kernel code' /proc/iomem")
        found = [(int(m[1], 16), m[2]) for m in re.finditer(r"^([0-9a-f]{16}) . (\w+)$", lines, re.M)]
        return (
            {name: address for address, name in found if name in WANTED},
            [address for address, name in found if name.startswith("__SCT__")],
            int(re.search(r"([0-9a-f]+)-[0-9a-f]+ : Kernel code", lines)[1], 16),
        )

    def close(self):
        os.close(self.file)

    def read_gpa(self, gpa, size):
        parts = []
        while size:
            part = os.pread(self.file, size, self.base + gpa)
            parts.append(part)
            gpa += len(part)
            size -= len(part)
        return b"".join(parts)

    def image_gpa(self, gva):
        return gva - self.symbols["_text"] + self.code_gpa

    def read_image(self, gva, size):
        """Reads from the kernel image, which is contiguous in physical memory."""
        return self.read_gpa(self.image_gpa(gva), size)

    def write_image(self, gva, data):
        """Writes memory that a hostile guest could write."""
        with open(f"/proc/{self.domain.pid}/mem", "r+b", buffering=0) as file:
            os.pwrite(file.fileno(), data, self.base + self.image_gpa(gva))

    def read_btf(self):
        """Returns the address of the kernel's BTF and its bytes."""
        lines = self.domain.run("grep -E ' __st(art|op)_BTF$' /proc/kallsyms").splitlines()
        start, stop = sorted(int(line.split()[0], 16) for line in lines)
        btf = self.read_image(start, stop - start)
        assert btf[:2] == b"\x9f\xeb", btf[:24]
        return start, btf

    def hide_btf(self):
        """Like read_btf(), and overwrites the header."""
        start, btf = self.read_btf()
        self.write_image(start, bytes(24))
        return start, btf

    def rename_symbols(self, names):
        """Changes the last letters of NAMES in the kernel's kallsyms, so that no symbol has them. Returns [(address, bytes
        before)] for write_image()."""
        lines = self.domain.run("grep -E ' __(start|end)_rodata$' /proc/kallsyms").splitlines()
        start, stop = sorted(int(line.split()[0], 16) for line in lines)
        data = self.read_image(start, stop - start)
        digits = b"\0".join(b"%d" % digit for digit in range(10)) + b"\0"
        for match in re.finditer(re.escape(digits), data):  # also in tables of characters
            found = tokens_of_names(data, match.start(), {name.encode() for name in names})
            if found and len(found) == len(names):
                break
        else:
            raise AssertionError(f"not found: {names}")
        for at in found:
            self.write_image(start + at, b"q")
        return [(start + at, data[at : at + 1]) for at in found]

    def walk(self, gva):
        """Returns the physical address according to the kernel's own page tables, or None if nothing is mapped."""
        root = self.image_gpa(self.symbols["init_top_pgt"])
        levels = 5 if self._la57() else 4
        table = root
        for level in range(levels, 0, -1):
            index = (gva >> (12 + 9 * (level - 1))) & 511
            (entry,) = struct.unpack("<Q", self.read_gpa(table + 8 * index, 8))
            if not entry & 1:
                return None
            table = entry & FRAME
            if level == 1 or (level <= 3 and entry & 0x80):
                span = 1 << (12 + 9 * (level - 1))
                return (table & ~(span - 1)) + (gva & (span - 1))
        return None

    def _la57(self):
        cr4 = re.search(r"CR4=([0-9a-f]+)", self.domain.monitor("info registers"))
        return bool(int(cr4[1], 16) & (1 << 12))

    def snapshot(self):
        """Copies the kernel text, the page tables that map the kernel image, and module text."""
        s = self.symbols
        tables = {}
        for name in ("init_top_pgt", "level3_kernel_pgt", "level2_kernel_pgt"):
            raw = struct.unpack("<512Q", self.read_image(s[name], PAGE))
            tables[name] = [entry & ~ACCESSED_DIRTY for entry in raw]
        return {
            "text": self.read_image(s["_text"], s["_etext"] - s["_text"]),
            "tables": tables,
            "modules": self._module_text(),
        }

    def _module_text(self):
        """Returns {(module, page): bytes} of the first page of every module's .text."""
        lines = self.domain.run(
            "for m in /sys/module/*/sections/.text; do [ -e $m ] || continue; "
            "n=${m#/sys/module/}; n=${n%%/*}; echo $n $(cat $m) $(grep \"^$n \" /proc/modules); done"
        )
        pages = {}
        for line in lines.splitlines():
            words = line.split()
            if len(words) < 4:
                continue
            start, size = int(words[1], 16), int(words[3])
            for page in range(start & ~(PAGE - 1), start + size, PAGE):
                gpa = self.walk(page)
                if gpa is None:
                    break
                pages[(words[0], page)] = self.read_gpa(gpa, PAGE)
                break  # one page of .text has every site of the modules that the tests load
        return pages

    def _same_memory(self, one, other):
        """Returns whether OTHER leads to a table that maps the memory of the large page ONE: set_memory_x() and others
        split pages so (change_page_attr). hvtrace writes only into empty entries."""
        if not one & 0x80 or other & 0x80 or not one & other & 1:
            return False
        (first,) = struct.unpack("<Q", self.read_gpa(other & FRAME, 8))
        return first & 1 == 1 and first & FRAME == one & FRAME & ~(LARGE - 1)

    def _own_places(self):
        """Returns [(start, end, name)] of the text that the guest itself may change at any time."""
        s = self.symbols
        places = []
        start, stop = s["__start___jump_table"], s["__stop___jump_table"]
        table = self.read_image(start, stop - start)
        is_absolute = abs(struct.unpack_from("<Q", table, 8)[0] - start) < 1 << 28  # in older kernels, such as 4.19
        length = 24 if is_absolute else 16
        for at in range(0, len(table) - length + 1, length):
            code = struct.unpack_from("<Q", table, at)[0] if is_absolute else start + at + struct.unpack_from("<i", table, at)[0]
            places.append((code, code + 5, "static key"))
        if "__start_static_call_sites" in s:
            start, stop = s["__start_static_call_sites"], s["__stop_static_call_sites"]
            table = self.read_image(start, stop - start)
            for at in range(0, len(table) - 7, 8):
                code = start + at + struct.unpack_from("<i", table, at)[0]
                places.append((code, code + 6, "static call"))
        for address in self.trampolines:
            places.append((address, address + 8, "static call trampoline"))
        return sorted(places)

    def names_of(self, addresses):
        """Returns [SYMBOL+OFFSET] for addresses in the kernel's text. Debian's System.map is in the debug package, so
        this reads the guest's kallsyms, and only the necessary part, because the serial port is slow."""
        if not addresses:
            return []
        near = "|".join(sorted({f"{address:016x}"[:12] for address in addresses}))  # 64 KiB around
        lines = self.domain.run(f"grep -E '^({near}).... [tTwW] ' /proc/kallsyms | grep -v '\\['").splitlines()
        names = sorted((int(words[0], 16), words[2]) for words in map(str.split, lines))
        found = []
        for address in addresses:
            at = bisect.bisect_right(names, (address, "\xff")) - 1
            found.append(f"{names[at][1]}+0x{address - names[at][0]:x}" if at >= 0 else hex(address))
        return found

    def compare(self, before, after):
        """Returns (list of forbidden differences, list of the guest's own differences), as lines."""
        bad, own, places = [], [], []
        differences = []  # (address, description, origin or None)
        text = self.symbols["_text"]
        old, new = before["text"], after["text"]
        if old != new:
            places = self._own_places()
            starts = [place[0] for place in places]
            at = 0
            while at < len(old):
                if old[at : at + PAGE] == new[at : at + PAGE]:
                    at += PAGE - at % PAGE
                    continue
                if old[at] == new[at]:
                    at += 1
                    continue
                gva = text + at
                index = bisect.bisect_right(starts, gva) - 1
                near = [p for p in places[max(0, index - 3) : index + 1] if p[0] <= gva < p[1]]
                line = f"{old[at:at+5].hex()} -> {new[at:at+5].hex()}"
                differences.append((gva, line, near[0][2] if near else None))
                at = near[0][1] - text if near else at + 5
        shown = differences[:50]
        for (_, line, whose), name in zip(shown, self.names_of([gva for gva, _, _ in shown])):
            (own if whose else bad).append(f"{whose + ' at' if whose else 'text:'} {name}: {line}")
        for gva, line, whose in differences[50:]:
            (own if whose else bad).append(f"{whose + ' at' if whose else 'text:'} {gva:#x}: {line}")
        for name, entries in before["tables"].items():
            for index, (one, other) in enumerate(zip(entries, after["tables"][name])):
                if one == other:
                    continue
                line = f"{name}[{index}]: {one:#x} -> {other:#x}"
                if self._same_memory(one, other):
                    own.append(f"large page split at {line}")
                else:
                    bad.append(line)
        for key, page in before["modules"].items():
            other = after["modules"].get(key)
            if other is not None and other != page:
                bad.append(f"module {key[0]}: page {key[1]:#x} differs")
        return bad, own
