# SPDX-License-Identifier: GPL-2.0-or-later
import ctypes
import functools
import mmap
import platform
import time


@functools.lru_cache(maxsize=None)
def khz():
    """Returns the frequency of this CPU's TSC, which guests under TCG read, or 0 if unknown. If a guest measures it at
    boot while other processes use the CPU, its clocks may be wrong: one ran twenty times too fast."""
    if platform.machine() != "x86_64":
        return 0
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("0f31 48c1e220 4809d0 c3"))  # rdtsc; shl $32, %rdx; or %rdx, %rax; ret
    rdtsc = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def moment():
        """Returns (ns, ticks) of one moment: the fastest of several tries."""
        tries = [(time.monotonic_ns(), rdtsc(), time.monotonic_ns()) for _ in range(50)]
        start, ticks, end = min(tries, key=lambda one: one[2] - one[0])
        return (start + end) / 2, ticks

    start_ns, start_ticks = moment()
    time.sleep(0.2)
    end_ns, end_ticks = moment()
    return round((end_ticks - start_ticks) * 1e6 / (end_ns - start_ns))
