# SPDX-License-Identifier: GPL-2.0-or-later
"""Writes to trace_marker and trace_marker_raw, compared with the guest's own."""

import re

from cases_hist import OWN
from lib import tracecmd
from lib.suite import ONE_VCPU, case

SIZES = (3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 18, 24, 101, 104, 105, 108, 112, 113, 1001, 3072, 3073, 4056, 4057, 4060, 4061, 4064, 4065, 4096, 4097)
WRITE = """
cd {dir}; bytes=$(mktemp); echo 0 >tracing_on; echo >trace; echo 1 >tracing_on
for n in {sizes}; do
    yes abcdefghijk | head -c $n >$bytes
    echo $n: $(dd if=$bytes of=trace_marker_raw bs=8192 count=1 conv=notrunc 2>&1 | grep -o -e 'Invalid argument' -e 'Bad file descriptor' -e '^0+1 records out')
done
echo 0 >tracing_on; rm $bytes
{show}
echo >trace; echo 1 >tracing_on
"""
PAGE = "dd if=per_cpu/cpu0/trace_pipe_raw bs=4096 count=1 2>/dev/null | od -An -v -tx1"
MARKER = re.compile(r"# ([0-9a-f]+) buf:((?: [0-9a-f]{2})*)$", re.MULTILINE)


def records(page):
    """Returns the payloads in a page, without their common fields."""
    found, at, end = [], 16, 16 + (int.from_bytes(page[8:16], "little") & 0xFFFFF)
    while at < end:
        kind = page[at] & 31
        if kind == tracecmd.TIME_EXTEND:
            at += 8
            continue
        start, length = (at + 4, 4 * kind) if kind else (at + 8, int.from_bytes(page[at + 4 : at + 8], "little") - 4)
        found.append(page[start + 8 : start + length])
        at = start + length
    return found


TEXTS = (1, 1000, 1024, 1025, 2000, 4030, 4070, 4095, 4096)
TEXT = """
cd {dir}; echo 0 >tracing_on; echo 100 >buffer_size_kb; echo >trace; echo 1 >tracing_on
for n in {sizes}; do yes abcdefghijk | tr -d '\\n' | head -c $n | dd of=trace_marker bs=8192 iflag=fullblock conv=notrunc 2>/dev/null; done
echo 0 >tracing_on; grep -o 'tracing_mark_write: .*' trace
echo >trace; echo 1 >tracing_on; echo 1 >buffer_size_kb
"""


def known(sizes, all_bytes):
    """Returns for each record its length and the written bytes. The bytes after those are old contents of the guest's
    page."""
    assert len(sizes) == len(all_bytes), f"{len(all_bytes)} records of {sizes}: {all_bytes}"
    return [(len(of_one), of_one[:n]) for n, of_one in zip(sizes, all_bytes, strict=True)]


@case(configs=ONE_VCPU, sanitized=True)
def markers(t):
    """A text longer than the guest's kernel accepts becomes several lines, as in the guest."""
    with t.attach():
        command = TEXT.format(dir=OWN, sizes=" ".join(map(str, TEXTS)))
        own, ours = ([len(line) for line in text.splitlines()] for text in (t.guest.run(command), t.hv("exec", t.name, "busybox", "sh", "-c", command)))
        assert own == ours and len(own) >= len(TEXTS), f"{own} {ours}"
        t.note(f"{own}")


@case(configs=ONE_VCPU)
def raw_markers(t):
    """Writes that trace_marker_raw accepts and refuses, and the lengths of its records: text and pages equal the
    guest's own."""
    with t.attach():

        def both(sizes, show):
            command = WRITE.format(dir=OWN, sizes=" ".join(map(str, sizes)), show=show)
            own = t.guest.run(command, timeout=300)
            return own, t.hv("exec", t.name, "busybox", "sh", "-c", command, timeout=600)

        own, ours = [re.findall(r"^(\d+): (.*)$", text, re.MULTILINE) for text in both(SIZES, "")]
        assert own == ours, f"{own}\n{ours}"
        taken = [int(n) for n, result in own if "Invalid" not in result]
        small = [n for n in taken if n < 200]
        texts, pages = zip(*(text.split("== page") for text in both(small, f"sed '' trace; echo == page; {PAGE}")), strict=True)
        assert all("buf:" in text for text in texts), "\n".join(texts)
        own, ours = [
            known(small, [int(m[1], 16).to_bytes(4, "little") + bytes.fromhex(m[2]) for m in MARKER.finditer(text)]) for text in texts
        ]
        assert own == ours, f"{[(a[0], b[0]) for a, b in zip(own, ours)]}\n{own[:4]}\n{ours[:4]}"
        assert own == known(small, records(bytes.fromhex(pages[0]))), "the guest's own page and text differ"
        ours = known(small, records(bytes.fromhex(pages[1])))
        assert own == ours, f"{[(a[0], b[0]) for a, b in zip(own, ours)]}\n{own[:4]}\n{ours[:4]}"
        t.note(f"{len(taken)} of {len(SIZES)} sizes accepted, up to {max(taken)} bytes; the shortest record has {own[0][0]}")
