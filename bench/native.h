/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs trampolines natively in this process. Sets up a trampoline world
 * (tests/lib/trampoline_world.h) with the same bytes as in a guest and gs at the world's per-CPU
 * data, and provides reference functions for comparison. x86-64 Linux only. The caller measures. */
#pragma once

#include "tests/lib/trampoline_world.h"

#define NATIVE_UNTRACED_OFF (WORLD_TEXT_END + 0x00) /* the site's nop; return */
/* call of a function that only returns; return */
#define NATIVE_EMPTY_OFF    (WORLD_TEXT_END + 0x40)
#define NATIVE_RDTSC_OFF    (WORLD_TEXT_END + 0x80) /* call of rdtsc and return; return */
/* Functions that replace their return address, return to the replacement, and then reach their
 * caller like the return handler of a graph. */
#define NATIVE_BY_CALL_OFF  (WORLD_TEXT_END + 0xc0)
#define NATIVE_BY_JUMP_OFF  (WORLD_TEXT_END + 0x100)
/* As above, but the function jumps to separate code at its entry, and this code calls the rest of
 * the function, so that each return matches a call. */
#define NATIVE_BESIDE_OFF   (WORLD_TEXT_END + 0x140)
#define NATIVE_ADD_OFF	    (WORLD_TEXT_END + 0x180) /* call of xadd, rdtsc and return; return */
#define NATIVE_LOCK_OFF	    (WORLD_TEXT_END + 0x1c0) /* call of lock xadd, rdtsc and return; return */
#define NATIVE_PLACED_OFF   (WORLD_TEXT_END + 0x200) /* code copied by native_place() */

/* Creates a world with rings of NR_SLOTS records and touches all its memory. Returns NULL and sets
 * *ret_lack to the reason if this machine lacks a feature. */
struct world *native_new(uint64_t nr_slots, const char **ret_lack);
void native_free(struct world *w);

/* Like world_prepare(), but also adds the functions above and keeps the ring heads. */
void native_prepare(const struct world *w, const struct world_case *c);

/* Copies position-independent code from CODE to END into the text of the world and returns its
 * address. world_prepare() and world_set_up() overwrite it. A traced function called from the copy
 * has a caller below 2 GiB; HV_RECORD_ZEROS are zero in its records like in those of a kernel,
 * whose text is in the last 2 GiB. */
void *native_place(const struct world *w, const uint8_t *code, const uint8_t *end);

/* Calls the function at OFF of the world NR times, at least once, and clears *EACH before each
 * call. */
void native_call(const struct world *w, uint64_t off, uint64_t nr, uint32_t *each);
/* Returns the address to which the calls return. */
uint64_t native_call_return(void);
