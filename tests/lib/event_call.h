/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls the event trampolines in this process, as callbacks in a guest do, and asserts that they
 * keep the registers that they must keep. x86-64. */
#pragma once

#include "tests/lib/trampoline_world.h"

#define EVENT_TRAP_FLAG 0x100

/* EVENT_TRAP_FLAG: trampolines run with the trap flag set. */
extern uint64_t event_traps;

/* The first two arguments of the last call to one of the kernel's functions. */
extern uint64_t event_passed[2];

/* Writes substitutes for kernel functions: they return 1 (reserve), 2 (commit), 3, 4 (release). */
void event_make_kernel(const struct world *w);

/* Calls the trampoline at OFF of the code and returns its return value. */
uint64_t event_call_trampoline(const struct world *w, size_t off, uint64_t a, uint64_t b,
			       uint64_t c);
uint64_t event_reserve(const struct world *w, struct world_buffer *buffer, uint64_t file,
		       uint64_t len);
uint64_t event_commit(const struct world *w, struct world_buffer *buffer);

static inline struct hv_event_file *event_file(const struct world *w, unsigned index)
{
	return (struct hv_event_file *)(w->host + WORLD_FILES_OFF) + index;
}
