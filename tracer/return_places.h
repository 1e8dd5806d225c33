/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the return address of an open call is, by the slot that its frame has, and what it looks
 * like there. On x86-64 it is in the slot. On arm64 the slot is the stack pointer with which the
 * function was entered; the address is in the function's frame record below, and it may be signed.
 * With shadow call stacks a function saves what it is to return to in its frame record and on the
 * shadow call stack, and returns to the latter. So both must be put back. The two stacks have the
 * calls in the same order, by which the addresses are told apart.
 * Leaves to others: which calls are open, and what is written (returns.h). */
#pragma once

#include <stddef.h>

#include "kernel/shadow_stacks.h"
#include "kernel/signing.h"

struct hv_tracee;

struct hv_return_places {
	const struct hv_tracee *tracee; /* borrowed */
	struct hv_tasks tasks;		/* of the hold */
	bool in_records;
	struct hv_frame_records records;
	struct hv_signing signing;
	struct hv_shadow_stacks shadow;
};

struct hv_return_place {
	struct hv_gva at;
	struct hv_gpa gpa;
	uint64_t word;	    /* what is there */
	uint64_t address;   /* the address of code that it is, if it is one */
	struct hv_gva task; /* the one that returns; 0: not known, or not needed */
};

/* A call whose return address was replaced by our handler's. */
struct hv_hooked {
	struct hv_gva slot;
	struct hv_return_place place;
	uint64_t caller; /* the address that was there; our handler's: not known yet */
};

/* By place. */
void hv_hooked_sort(struct hv_hooked *list, size_t nr);
/* The call of a sorted LIST whose return address is at AT. NULL: there is none. */
const struct hv_hooked *hv_hooked_at(const struct hv_hooked *list, size_t nr, struct hv_gva at);

/* In a hold. REGS: the registers of all NR_VCPUS. RET is untouched on failure. */
struct hv_err *hv_return_places_read(const struct hv_tracee *t, const struct hv_vcpu_regs *regs,
				     unsigned nr_vcpus, struct hv_return_places *ret) hv_must_use;
void hv_return_places_deinit(struct hv_return_places *p);

/* EOPNOTSUPP with the reason: return addresses of this kernel could not be put back. */
struct hv_err *hv_return_places_check(const struct hv_return_places *p) hv_must_use;

/* The word at AT. False: AT cannot be on a stack, because it is not mapped (any more) or has no RAM
 * (mapped again after its task died). */
bool hv_return_places_at(const struct hv_return_places *p, struct hv_gva at,
			 struct hv_return_place *ret);
/* False: nothing returns by SLOT. */
bool hv_return_places_find(const struct hv_return_places *p, struct hv_gva slot,
			   struct hv_return_place *ret);
/* The word that would be at PLACE if the call returned to ADDRESS. The word that is there proves
 * how it has to be made: it must be what is made of PLACE's own address. EBUSY: it is not. */
struct hv_err *hv_return_places_word(const struct hv_return_places *p,
				     const struct hv_return_place *place, struct hv_gva slot,
				     uint64_t address, uint64_t *ret) hv_must_use;

/* Finds the addresses on shadow call stacks that are our handler's. LIST: the NR calls that have a
 * frame of ours, sorted by place, with their callers; the address in a record is our handler's, or
 * the caller's if a detach was interrupted. *RET: *RET_NR calls, with places on shadow call stacks;
 * the caller frees it with free(). EBUSY: an address of ours, there or in a record, belongs to no
 * known call, as while a function makes or leaves its frame. */
struct hv_err *hv_return_places_find_shadow(const struct hv_return_places *p,
					    const struct hv_hooked *list, size_t nr,
					    struct hv_hooked **ret, size_t *ret_nr) hv_must_use;
