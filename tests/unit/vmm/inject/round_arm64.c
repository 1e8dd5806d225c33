/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/vmm/inject/round.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

#define ROUND_UP 0x400000u /* in fpcr */

/* Tests one or two registers of each kind. x7 has a different value while a tracer observes a
 * system call. x9 and x17 are call-clobbered in C, but the kernel preserves them. */
bool round_keeps_registers(int fd)
{
	static const uint64_t pattern[2] = {0x0123456789abcdef, 0xfedcba9876543210};
	uint64_t seen[2] = {0}, fpcr = ROUND_UP, fpcr_seen = 0, fpsr_seen = 0, flags = 0;
	uint64_t general[7] = {0};
	char byte = 0;
	register long x0 __asm__("x0") = fd;
	register char *x1 __asm__("x1") = &byte;
	register long x2 __asm__("x2") = 1;
	register long x8 __asm__("x8") = SYS_read;

	__asm__ volatile("ldr q9, %[in]\n\t"
			 "ldr q31, %[in]\n\t"
			 "msr fpcr, %[fpcr]\n\t"
			 "mov x7, #0x7777\n\t"
			 "msr fpsr, x7\n\t"
			 "mov x9, #0x9999\n\t"
			 "mov x17, #0x1717\n\t"
			 "mov x19, #0x1919\n\t"
			 "mov x27, #0x2727\n\t"
			 "mov x30, #0x3030\n\t"
			 "cmp x9, x9\n\t"
			 "svc #0\n\t"
			 "stp x7, x9, [%[general]]\n\t"
			 "stp x17, x19, [%[general], #16]\n\t"
			 "stp x27, x30, [%[general], #32]\n\t"
			 "str x8, [%[general], #48]\n\t"
			 "mrs %[flags], nzcv\n\t"
			 "mrs %[fpcr_seen], fpcr\n\t"
			 "mrs %[fpsr_seen], fpsr\n\t"
			 "msr fpcr, xzr\n\t"
			 "str q9, %[out]\n\t"
			 "ldr q9, %[in]\n\t"
			 "cmeq v9.2d, v9.2d, v31.2d\n\t"
			 "mov x9, v9.d[0]\n\t"
			 "and %[flags], %[flags], x9\n\t"
			 : "+r"(x0), "+r"(x8), [out] "=m"(seen), [flags] "=&r"(flags),
			   [fpcr_seen] "=&r"(fpcr_seen), [fpsr_seen] "=&r"(fpsr_seen)
			 : "r"(x1),
			   "r"(x2), [in] "m"(pattern), [fpcr] "r"(fpcr), [general] "r"(general)
			 : "x7", "x9", "x17", "x19", "x27", "x30", "v9", "v31", "cc", "memory");
	return x0 == 1 && byte == 'x' && general[0] == 0x7777 && general[1] == 0x9999 &&
	       general[2] == 0x1717 && general[3] == 0x1919 && general[4] == 0x2727 &&
	       general[5] == 0x3030 && general[6] == SYS_read && flags == 0x60000000 &&
	       fpcr_seen == ROUND_UP && fpsr_seen == (0x7777 & 0x9f) &&
	       !memcmp(seen, pattern, sizeof(seen));
}
