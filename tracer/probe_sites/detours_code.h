/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of detours in the region and the guest probe sites that they belong to. For the files
 * that implement detours.h. */
#pragma once

#include "tracer/guest/tracee.h"
#include "tracer/probe_sites/detours.h"

/* A block of code in the region. */
struct block {
	struct hv_detour_want is; /* the detour that starts here */
	unsigned nr;		  /* number of blocks of the detour; 0: not its first block */
	bool is_free;		  /* no task is in it and nothing leads to it */
	bool is_written;	  /* the code is in the region */
};

struct hv_detours {
	struct hv_tracee *tracee; /* borrowed */
	enum hv_change_kind kind;
	size_t first, max;  /* block numbers in the region */
	struct block *list; /* owned; indexed by block number */
	size_t nr;
	bool none_free; /* the last search found none; until hv_detours_look_again() */
};

/* A block, and the guest instruction that its detour replaces. */
struct block_site {
	uint64_t at;
	size_t nr; /* index of the block in the list */
};

/* NR is a block number in the region. */
static inline struct hv_gva hv_detour_at(const struct hv_tracee *t, size_t nr)
{
	return hv_gva_add(t->range.start,
			  HV_REGION_DETOURS_OFF - HV_REGION_TRAMPOLINES_OFF + nr * HV_DETOUR_LEN);
}

static inline bool hv_detour_is_call(enum hv_detour_kind kind)
{
	return kind == HV_DETOUR_CALL_BEGINS || kind == HV_DETOUR_CALL_ENDS ||
	       kind == HV_DETOUR_ARRIVES;
}

/* Chooses a detour number for each of WANTS; SIZE_MAX: no room, or the detour cannot be built. New
 * detours are appended, then placed in free blocks. Returns how many did not fit. */
size_t hv_detours_choose(struct hv_detours *d, const struct hv_detour_want *wants, size_t nr,
			 size_t *numbers);
/* Frees the blocks of HV_CHANGE_PROBE_SITE in which no task is and to which nothing in the guest
 * leads. Checks all stacks in a hold. Invalidates chosen detours that nothing leads to yet. Does
 * nothing if the last search freed none (none_free). Fails only if the hold fails. */
struct hv_err *hv_detours_free_unused(struct hv_detours *d) hv_must_use;
/* Writes the code of all new detours. */
struct hv_err *hv_detours_write(struct hv_detours *d) hv_must_use;
