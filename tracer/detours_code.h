/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of detours in the region, and which place of the guest has which, for the files that
 * implement detours.h. */
#pragma once

#include "tracer/detours.h"
#include "tracer/tracee.h"

/* A block of code in the region. */
struct block {
	struct hv_detour_want is; /* the detour that begins here */
	unsigned nr;		  /* blocks of that; 0: this is one behind the first */
	bool is_free;		  /* nobody is in it, and nothing leads to it */
	bool is_written;	  /* is in the region */
};

struct hv_detours {
	struct hv_tracee *tracee; /* borrowed */
	enum hv_change_kind kind;
	size_t first, max;  /* numbers of blocks, in the region */
	struct block *list; /* owned; by the number of the block */
	size_t nr;
	bool none_free; /* as it was seen; until hv_detours_look_again() */
};

/* A block and the place in the guest that it is for. */
struct place {
	uint64_t at;
	size_t nr; /* of the block, in the list */
};

/* NR: of a block, in the region. */
static inline struct hv_gva hv_detour_at(const struct hv_tracee *t, size_t nr)
{
	return hv_gva_add(t->range.start,
			  HV_REGION_DETOURS_OFF - HV_REGION_STUBS_OFF + nr * HV_DETOUR_LEN);
}

static inline bool hv_detour_is_call(enum hv_detour_kind kind)
{
	return kind == HV_DETOUR_CALL_BEGINS || kind == HV_DETOUR_CALL_ENDS ||
	       kind == HV_DETOUR_ARRIVES;
}

/* Those of all blocks, sorted by address; the caller owns them. */
struct place *hv_detours_places(const struct hv_detours *d);
/* Chooses the number of the detour for each of WANTS; SIZE_MAX: there is no room, or it cannot be
 * made. New ones are added behind the others, and then where others are free. Returns how many have
 * no room. */
size_t hv_detours_choose(struct hv_detours *d, const struct hv_detour_want *wants, size_t nr,
			 size_t *numbers);
/* Makes those of HV_CHANGE_PLACE free in which nobody is and to which nothing leads in the guest,
 * by looking at all stacks in a hold. It invalidates what was chosen and leads nowhere yet.
 * Does nothing after a look that freed none (none_free). Fails only by the hold. */
struct hv_err *hv_detours_free_unused(struct hv_detours *d) hv_must_use;
/* Writes the code of all that have none yet. */
struct hv_err *hv_detours_write(struct hv_detours *d) hv_must_use;
