/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/dwarf_regs.h"

#define USER_REGS_LEN 168 /* struct pt_regs (arch/x86/include/asm/ptrace.h) */
#define USER_CS	      136
#define USER_CS_64    0x33

/* System V ABI, AMD64 supplement, figure 3.36: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15, and
 * the return address */
const struct hv_dwarf_regs hv_dwarf_regs_x86_64 = {
	.offs = {80, 96, 88, 40, 104, 112, 32, 152, 72, 64, 56, 48, 24, 16, 8, 0, 128},
	.nr = 17,
	.sp = 7,
	.ip = 16,
	.len_bytes = USER_REGS_LEN,
	.mode_off = USER_CS,
	.mode = USER_CS_64,
};
