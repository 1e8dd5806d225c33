/* A world of a stub (tests/lib/stub_world.h) in this process: the very bytes a guest gets, called
 * natively, with gs at the world's per-CPU data. And functions to compare a traced one with.
 * Linux on x86-64 only. Leaves to others: what is measured. */
#pragma once

#include "tests/lib/stub_world.h"

#define NATIVE_UNTRACED_OFF (WORLD_TEXT_END + 0x00) /* the site's nop; return */
#define NATIVE_EMPTY_OFF    (WORLD_TEXT_END + 0x40) /* a call of a bare return; return */
#define NATIVE_RDTSC_OFF    (WORLD_TEXT_END + 0x80) /* a call of rdtsc, return; return */

/* With room for rings of NR_SLOTS records, everything touched. NULL: *ret_lack says why not. */
struct world *native_new(uint64_t nr_slots, const char **ret_lack);
void native_free(struct world *w);

/* What world_prepare does, the functions above, and the heads go on. */
void native_prepare(const struct world *w, const struct world_case *c);

/* Calls the function at OFF of the world NR times, 1 or more; clears *EACH before each call. */
void native_call(const struct world *w, uint64_t off, uint64_t nr, uint32_t *each);
/* The address that a call returns to. */
uint64_t native_call_return(void);
