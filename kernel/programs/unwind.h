/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinds a copy of a program's stack by the rules of cfi.h, a frame at a time. The program controls
 * the registers, the stack and the rules: each CFA must be above the one before and in the copy,
 * memory is read only from the copy, and expressions are bounded. Pure. */
#pragma once

#include "arch/dwarf_regs.h"
#include "kernel/programs/cfi.h"

/* The registers in a function. */
struct hv_user_frame {
	const struct hv_dwarf_regs *names;
	uint64_t regs[HV_DWARF_REGS_MAX]; /* by DWARF's numbers */
	uint64_t cfa;	      /* of the function that it called; the stack pointer at first */
	struct hv_span stack; /* the copy, from address START on; borrowed */
	uint64_t start;
	bool is_exact; /* the ip is the next instruction's, not a return address */
};

/* Sets *RET to the interrupted function. COPY begins with the saved registers of the program, and
 * contains its stack from its stack pointer on (HV_FETCH_USER_COPY). Returns false if these are not
 * registers of a 64-bit program. */
bool hv_user_frame_init(struct hv_user_frame *ret, const struct hv_dwarf_regs *names,
			struct hv_span copy);
uint64_t hv_user_frame_ip(const struct hv_user_frame *f);

enum hv_user_unwound {
	HV_USER_UNWOUND_CALLER,	  /* F is the caller */
	HV_USER_UNWOUND_ALL,	  /* there is no caller: the stack is complete */
	HV_USER_UNWOUND_TOO_LONG, /* the stack continues after the copy */
	HV_USER_UNWOUND_WRONG,	  /* the rules cannot be right */
};
/* Replaces F by its caller. ROW has the rules at the ip of F. After any other result than
 * HV_USER_UNWOUND_CALLER, F is undefined. */
enum hv_user_unwound hv_unwind_user(struct hv_user_frame *f, const struct hv_cfi_row *row);
