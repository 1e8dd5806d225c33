/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds who called a function: walks the words of a kernel stack that a stub recorded, by the
 * kernel's own rules (orc.h), as its unwinder does it (arch_stack_walk). The words are hostile; a
 * walk ends whatever they are.
 * Leaves to others: where the words come from (tracer/). */
#pragma once

#include "base/addr.h"
#include "kernel/orc.h"

#define HV_STACK_WORDS_MAX 381
#define HV_CALLERS_MAX	   128

/* Words of a stack that are text or point into it, and where they were. Of both the low 31 bits; a
 * text address is an offset from text_base. */
struct hv_stack_words {
	struct hv_gva text_base;
	uint32_t sp; /* as a function's first instruction has it: its return address is there */
	uint32_t bp;
	struct hv_gva ip; /* not 0: not a function's first instruction, but the one to be executed
			   * next, of which the words are */
	size_t nr;
	struct {
		uint32_t at;
		uint32_t value;
		bool is_text;
	} list[HV_STACK_WORDS_MAX];
};

/* Code that is not the kernel's and calls its functions, always with the same frame. */
struct hv_unwind_stubs {
	struct hv_gva_range code; /* in which they return */
	struct hv_unwind_rule rule;
};

/* Finds the callers, the function's own caller first (or words->ip), and returns their number. Each
 * is the address behind a call, or where an interrupt came. Stubs are passed over; STUBS may be
 * NULL when there are none. *RET_EARLY: there may be callers beyond the last one, which could not
 * be found; else the last one is where the kernel was entered, or where a thread or CPU began. */
size_t hv_unwind(struct hv_orc *orc, const struct hv_arch *arch, const struct hv_stack_words *words,
		 const struct hv_unwind_stubs *stubs, struct hv_gva *ret, size_t max,
		 bool *ret_early);

/* Likewise of a kernel whose functions keep frame records, which a stub has followed: a word that
 * is text is the next caller, and any other one says that the last caller was called by nobody. */
size_t hv_unwind_records(const struct hv_stack_words *words, struct hv_gva *ret, size_t max,
			 bool *ret_early);
