/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the callers of a function: walks the words of a kernel stack that a stub recorded, with the
 * kernel's own rules (orc.h), like its unwinder (arch_stack_walk). The words are untrusted; every
 * walk ends. tracer/ supplies the words. */
#pragma once

#include "base/addr.h"
#include "kernel/tasks/orc.h"

#define HV_STACK_WORDS_MAX 381
#define HV_CALLERS_MAX	   128

/* Words of a stack that are text addresses or point into the stack, and their positions. Both keep
 * only the low 31 bits; a text address is an offset from text_base. */
struct hv_stack_words {
	struct hv_gva text_base;
	uint32_t sp; /* at a function's first instruction: its return address is there */
	uint32_t bp;
	struct hv_gva ip; /* if not 0, the words are of the state before this instruction, not at a
			     function's first one */
	size_t nr;
	struct {
		uint32_t at;
		uint32_t value;
		bool is_text;
	} list[HV_STACK_WORDS_MAX];
};

/* Non-kernel code that calls kernel functions, always with the same frame. */
struct hv_unwind_stubs {
	struct hv_gva_range code; /* return addresses in it */
	struct hv_unwind_rule rule;
};

/* Returns the number of callers, and in RET the callers, starting with the function's own caller
 * (or words->ip). Each is a return address or an interrupted address. Skips stubs; STUBS may be
 * NULL. *RET_EARLY is true if the walk ended too early to find all callers; otherwise the last
 * caller is at the kernel entry or the start of a thread or CPU. */
size_t hv_unwind(struct hv_orc *orc, const struct hv_arch *arch, const struct hv_stack_words *words,
		 const struct hv_unwind_stubs *stubs, struct hv_gva *ret, size_t max,
		 bool *ret_early);

/* Like hv_unwind(), for kernels whose functions keep frame records. A stub has already followed
 * them: a text word is the next caller, and any other word means that the last caller has no
 * caller. */
size_t hv_unwind_records(const struct hv_stack_words *words, struct hv_gva *ret, size_t max,
			 bool *ret_early);
