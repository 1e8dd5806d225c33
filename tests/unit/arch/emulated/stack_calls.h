/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of a function whose stack is recorded, in the world of a stub on an emulated CPU. What uses
 * it is built once for each architecture. */
#pragma once

#include <check.h>

#include "kernel/unwind.h"
#include "tests/lib/emulated/world.h"
#include "tracer/events/parts.h"

extern struct emu_world *world; /* of the running test */

/* What was recorded of a call. */
struct stack {
	unsigned functions, commands, stacks, tasks;
	bool of_command;
	struct hv_stack_words words;
	struct hv_gva list[HV_CALLERS_MAX];
	size_t nr;
	bool early;
};

/* A world whose functions record stacks, for each test. */
void stack_set_up(void);
void stack_tear_down(void);

/* What the rings say about the function at OFF. Everything in them must be complete. */
struct stack stack_read(uint64_t off);
/* The function has returned, and all registers are what they were BEFORE but those that are free.
 */
void stack_check_kept(const struct emu_regs *before);
/* Calls the traced function with the stack pointer SP, when the frame pointer is FP. */
void stack_call_at(uint64_t sp, uint64_t fp);
/* Likewise, with an empty ring. */
struct stack stack_call(uint64_t sp, uint64_t fp);
/* The first caller is that of the call, then come NR records from the FIRST on. */
void stack_expect(const struct stack *s, unsigned first, unsigned nr, bool early);

/* The record of the function whose frame pointer is FP. */
struct emu_record *record_at(uint64_t fp);

/* The stack pointer of who has the frame pointer FP when it calls the function. */
static inline uint64_t sp_of(uint64_t fp)
{
	return fp - EMU_BELOW_FP;
}

/* The tests of this architecture alone. */
void add_tests_of_arch(TCase *tc);
