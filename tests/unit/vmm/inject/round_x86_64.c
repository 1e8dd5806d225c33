/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/vmm/inject/round.h"

#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>

bool round_keeps_registers(int fd)
{
	static const uint64_t pattern[2] = {0x0123456789abcdef, 0xfedcba9876543210};
	uint64_t seen[2] = {0};
	uint32_t mxcsr = 0x7f80, mxcsr_seen = 0;
	uint64_t rbx = 0, r12 = 0;
	char byte;
	long result;

	__asm__ volatile("ldmxcsr %[mx]\n\t"
			 "movdqu %[in], %%xmm9\n\t"
			 "mov $0x1111, %%rbx\n\t"
			 "mov $0x2222, %%r12\n\t"
			 "syscall\n\t"
			 "movdqu %%xmm9, %[out]\n\t"
			 "stmxcsr %[mx_out]\n\t"
			 "mov %%rbx, %[rbx]\n\t"
			 "mov %%r12, %[r12]\n\t"
			 : "=a"(result), [out] "=m"(seen), [mx_out] "=m"(mxcsr_seen),
			   [rbx] "=m"(rbx), [r12] "=m"(r12)
			 : "0"(SYS_read), "D"(fd), "S"(&byte),
			   "d"(1L), [in] "m"(pattern), [mx] "m"(mxcsr)
			 : "rbx", "r12", "rcx", "r11", "xmm9", "memory");
	return result == 1 && !memcmp(seen, pattern, sizeof(seen)) && mxcsr_seen == mxcsr &&
	       rbx == 0x1111 && r12 == 0x2222;
}
