/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the return address of an open call from the slot in its frame, and how it is stored. On
 * x86-64 it is in the slot. On arm64 the slot is the stack pointer at function entry; the address
 * is in the function's frame record below, and may be signed. With shadow call stacks, a function
 * saves its return address in its frame record and on the shadow call stack, and returns to the
 * latter, so both must be restored. The two stacks contain the calls in the same order; this
 * identifies the addresses that belong together.
 *
 * returns.h finds the open calls and writes the addresses. */
#pragma once

#include <stddef.h>

#include "kernel/tasks/return_addresses.h"

struct hv_tracee;

struct hv_return_places {
	const struct hv_tracee *tracee; /* borrowed */
	struct hv_tasks tasks;		/* as of the hold */
	bool in_records;
	struct hv_frame_records records;
	struct hv_signing signing;
	struct hv_shadow_stacks shadow;
};

struct hv_return_place {
	struct hv_gva at;
	struct hv_gpa gpa;
	uint64_t word;	    /* the word at AT */
	uint64_t address;   /* the code address in WORD, if it is one */
	struct hv_gva task; /* the task that returns; 0: unknown or not needed */
};

/* A call whose return address was replaced by our handler. */
struct hv_hooked {
	struct hv_gva slot;
	struct hv_return_place place;
	uint64_t caller; /* the original address; our handler: not known yet */
};

/* Sorts by place. */
void hv_hooked_sort(struct hv_hooked *list, size_t nr);
/* Returns the call in a sorted LIST whose return address is at AT, or NULL. */
const struct hv_hooked *hv_hooked_at(const struct hv_hooked *list, size_t nr, struct hv_gva at);

/* Call this in a hold. REGS are the registers of all NR_VCPUS. RET is unchanged on failure. */
struct hv_err *hv_return_places_read(const struct hv_tracee *t, const struct hv_vcpu_regs *regs,
				     unsigned nr_vcpus, struct hv_return_places *ret) hv_must_use;
void hv_return_places_deinit(struct hv_return_places *p);

/* EOPNOTSUPP with the reason: return addresses of this kernel cannot be restored. */
struct hv_err *hv_return_places_check(const struct hv_return_places *p) hv_must_use;

/* Reads the word at AT. Returns false if AT cannot be on a stack: it is not mapped, or not to RAM
 * (mapped again after its task died). */
bool hv_return_places_at(const struct hv_return_places *p, struct hv_gva at,
			 struct hv_return_place *ret);
/* Returns false if no call returns through SLOT. */
bool hv_return_places_find(const struct hv_return_places *p, struct hv_gva slot,
			   struct hv_return_place *ret);
/* Computes the word to store at PLACE so that the call returns to ADDRESS. The present word
 * verifies the encoding: it must be the encoding of PLACE's own address. EBUSY: it is not. */
struct hv_err *hv_return_places_word(const struct hv_return_places *p,
				     const struct hv_return_place *place, struct hv_gva slot,
				     uint64_t address, uint64_t *ret) hv_must_use;

/* Finds the copies of our handler's address on shadow call stacks. LIST has the NR hooked calls
 * that were found by their frame records, sorted by place; a frame record may already be restored
 * if a detach was interrupted. *RET has *RET_NR entries for the same calls, with the place on the
 * shadow call stack; free it with free(). EBUSY: one of our addresses belongs to no known call, for
 * example while a function creates or leaves its frame. */
struct hv_err *hv_return_places_find_shadow(const struct hv_return_places *p,
					    const struct hv_hooked *list, size_t nr,
					    struct hv_hooked **ret, size_t *ret_nr) hv_must_use;
