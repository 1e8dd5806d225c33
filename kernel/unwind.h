/* Who called a function: the words of a kernel's stack that a stub recorded, walked by the kernel's
 * own rules (orc.h) as its unwinder does it (arch_stack_walk). A stack of any content has an end.
 * Leaves to others: where the words came from (tracer/). */
#pragma once

#include "base/addr.h"
#include "kernel/orc.h"

#define HV_STACK_WORDS_MAX 381
#define HV_CALLERS_MAX	   128

/* Words of a stack that are text or point into it, and where they were: low 31 bits of both, for
 * text those of its offset from text_base. */
struct hv_stack_words {
	struct hv_gva text_base;
	uint32_t sp; /* as a function's first instruction has it: its return address is there */
	uint32_t bp;
	size_t nr;
	struct {
		uint32_t at;
		uint32_t value;
		bool is_text;
	} list[HV_STACK_WORDS_MAX];
};

/* Code that is not the kernel's and calls its functions, all with the same frame. */
struct hv_unwind_stubs {
	struct hv_gva_range code; /* in which they return */
	struct hv_unwind_rule rule;
};

/* Who called, the function's caller first; stubs are passed over (NULL: there are none); text
 * addresses behind a call, or where an interrupt came. Returns how many. */
size_t hv_unwind(struct hv_orc *orc, const struct hv_arch *arch, const struct hv_stack_words *words,
		 const struct hv_unwind_stubs *stubs, struct hv_gva *ret, size_t max);
