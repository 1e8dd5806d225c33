/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A world of a stub (tests/lib/stub_world.h) in this process: the same bytes that a guest gets,
 * called natively, with gs at the world's per-CPU data; and functions to compare a traced one with.
 * Linux on x86-64 only. Leaves to others: what is measured. */
#pragma once

#include "tests/lib/stub_world.h"

#define NATIVE_UNTRACED_OFF (WORLD_TEXT_END + 0x00) /* the site's nop; return */
#define NATIVE_EMPTY_OFF    (WORLD_TEXT_END + 0x40) /* a call of a bare return; return */
#define NATIVE_RDTSC_OFF    (WORLD_TEXT_END + 0x80) /* a call of rdtsc, return; return */
/* Functions that replace their return address, return to what they put there, and go to their
 * caller as the return handler of a graph does. */
#define NATIVE_BY_CALL_OFF  (WORLD_TEXT_END + 0xc0)
#define NATIVE_BY_JUMP_OFF  (WORLD_TEXT_END + 0x100)
/* The same by code of its own beside the function, which the function jumps to at its entry and
 * which calls the rest of it: each return has its call. */
#define NATIVE_BESIDE_OFF   (WORLD_TEXT_END + 0x140)
#define NATIVE_ADD_OFF	    (WORLD_TEXT_END + 0x180) /* a call of xadd, rdtsc, return; return */
#define NATIVE_LOCK_OFF	    (WORLD_TEXT_END + 0x1c0) /* a call of lock xadd, rdtsc, return; return */
#define NATIVE_PLACED_OFF   (WORLD_TEXT_END + 0x200) /* what native_place() puts there */

/* Makes a world with rings of NR_SLOTS records, and touches all of its memory. NULL: *ret_lack says
 * what this machine lacks. */
struct world *native_new(uint64_t nr_slots, const char **ret_lack);
void native_free(struct world *w);

/* Does what world_prepare does, adds the functions above, and leaves the heads as they are. */
void native_prepare(const struct world *w, const struct world_case *c);

/* Copies position-independent code, from CODE to END, into the text of the world and returns its
 * address there. A traced function that is called from that code has a caller's address below 2
 * GiB. The record of such a call has its HV_RECORD_ZEROS, as all records of a kernel have, whose
 * text is in the last 2 GiB. world_prepare() and world_set_up() overwrite the copy. */
void *native_place(const struct world *w, const uint8_t *code, const uint8_t *end);

/* Calls the function at OFF of the world NR times (1 or more), and clears *EACH before each
 * call. */
void native_call(const struct world *w, uint64_t off, uint64_t nr, uint32_t *each);
/* Returns the address to which a call returns. */
uint64_t native_call_return(void);
