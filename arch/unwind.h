/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rules by which a frame's caller is found, where the kernel has tables of them (ORC), and the
 * frames. Leaves to others: the tables (kernel/orc.h), following frames (struct hv_arch's unwind,
 * kernel/sleeper.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

/* How the caller of a function is found from one of its instructions. */
enum hv_unwind_kind {
	HV_UNWIND_NONE, /* nothing is known */
	HV_UNWIND_END,	/* nobody called it */
	HV_UNWIND_CALL,
	HV_UNWIND_REGS, /* it was interrupted: all registers, or the part that the CPU saves */
	HV_UNWIND_REGS_PARTIAL,
};

/* Registers that a rule may refer to have numbers below this, of each architecture's own. In a rule
 * 0 means: an sp that is not known, a bp that is the caller's still. */
#define HV_UNWIND_NR_REGS 8

struct hv_unwind_rule {
	enum hv_unwind_kind kind;
	int16_t sp_off;
	int16_t bp_off;
	uint8_t sp_reg;
	uint8_t bp_reg;
	bool exact; /* the address found is of the next instruction itself, not behind a call */
};

/* The rule of the instruction OFF bytes behind a place in code. */
struct hv_unwind_step {
	uint32_t off;
	struct hv_unwind_rule rule;
};

/* What is known of an address of a stack: its low 31 bits. */
#define HV_STACK_ADDRESS_MASK 0x7fffffffu

/* A frame. Of addresses of stacks only the low 31 bits. */
struct hv_unwind_frame {
	struct hv_gva ip;
	bool exact; /* see above */
	uint32_t sp;
	uint32_t bp;
	bool has_regs; /* all registers of IP's context are at REGS */
	uint32_t regs;
};

/* What is at AT of a stack. False: it is not known. Text is a full address, else a pointer into a
 * stack. */
typedef bool (*hv_stack_word)(void *ctx, uint32_t at, uint64_t *ret);

/* What became of a step from a frame to its caller's. */
enum hv_unwound {
	HV_UNWOUND_CALLER, /* the frame is the caller's now */
	HV_UNWOUND_END,	   /* there is no caller: the kernel was entered here */
	HV_UNWOUND_EARLY,  /* there may be one, but the rule or the words do not tell */
};
