/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind rules for kernels with unwind tables (ORC), and frames.
 *
 * kernel/tasks/orc.h reads the tables; struct hv_arch's unwind() and kernel/tasks/sleeper.h follow
 * frames. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

/* How to find the caller of a function from one of its instructions. */
enum hv_unwind_kind {
	HV_UNWIND_NONE, /* unknown */
	HV_UNWIND_END,	/* there is no caller */
	HV_UNWIND_CALL,
	HV_UNWIND_REGS, /* an exception: all registers, or the part that the CPU saves */
	HV_UNWIND_REGS_PARTIAL,
};

/* Registers in rules have architecture-specific numbers below this. 0 means: sp is unknown, and bp
 * is still the caller's. */
#define HV_UNWIND_NR_REGS 8

struct hv_unwind_rule {
	enum hv_unwind_kind kind;
	int16_t sp_off;
	int16_t bp_off;
	uint8_t sp_reg;
	uint8_t bp_reg;
	bool exact; /* the address found is the next instruction itself, not a return address */
};

/* The rule at OFF bytes after a position in code. */
struct hv_unwind_step {
	uint32_t off;
	struct hv_unwind_rule rule;
};

/* The known part of a stack address: its low 31 bits. */
#define HV_STACK_ADDRESS_MASK 0x7fffffffu

/* A frame. Stack addresses are reduced to their low 31 bits. */
struct hv_unwind_frame {
	struct hv_gva ip;
	bool exact; /* see struct hv_unwind_rule */
	uint32_t sp;
	uint32_t bp;
	bool has_regs; /* REGS points to all registers of IP's context */
	uint32_t regs;
};

/* Reads the word at AT of a stack. Returns false if it is unknown. Kernel text addresses are
 * complete; other words are pointers into a stack. */
typedef bool (*hv_stack_word)(void *ctx, uint32_t at, uint64_t *ret);

/* Result of unwinding one frame. */
enum hv_unwound {
	HV_UNWOUND_CALLER, /* the frame is now the caller's */
	HV_UNWOUND_END,	   /* there is no caller: the kernel was entered here */
	HV_UNWOUND_EARLY,  /* the rule or the words do not show whether there is a caller */
};
