/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls a function whose stack is recorded, on an emulated CPU. Users of this header are built once
 * for each architecture. */
#pragma once

#include <check.h>

#include "kernel/tasks/unwind.h"
#include "tests/lib/emulated/world.h"
#include "tracer/events/decode.h"

extern struct emu_world *world; /* of the running test */

/* The records of a call. */
struct stack {
	unsigned functions, commands, stacks, tasks;
	bool of_command;
	struct hv_stack_words words;
	struct hv_gva list[HV_CALLERS_MAX];
	size_t nr;
	bool early;
};

/* Fixture: a world whose functions record stacks. */
void stack_set_up(void);
void stack_tear_down(void);

/* Returns the records of the function at OFF. Every record in the rings must be complete. */
struct stack stack_read(uint64_t off);
/* Asserts that the function has returned. The registers that the trampoline must keep equal
 * BEFORE. */
void stack_check_kept(const struct emu_regs *before);
/* Calls the traced function with the stack pointer SP and the frame pointer FP. */
void stack_call_at(uint64_t sp, uint64_t fp);
/* Empties the ring, then calls stack_call_at(). Returns the records. */
struct stack stack_call(uint64_t sp, uint64_t fp);
/* Expects the direct caller, then the callers of NR frame records, beginning with record FIRST. */
void stack_expect(const struct stack *s, unsigned first, unsigned nr, bool early);

/* Returns the frame record of the function whose frame pointer is FP. */
struct emu_record *record_at(uint64_t fp);

/* Returns the stack pointer at the call by a function whose frame pointer is FP. */
static inline uint64_t sp_of(uint64_t fp)
{
	return fp - EMU_BELOW_FP;
}

/* Adds the tests that only this architecture has. */
void add_tests_of_arch(TCase *tc);
