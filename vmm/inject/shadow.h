/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patches text by replacing its pages: copies of the pages, with the changes in them, are mapped in
 * the VMM instead of the RAM's own pages, all at once. KVM drops its mappings of the old pages and
 * maps the copies when the guest accesses them. The RAM's own pages stay unchanged in its file, and
 * are mapped again at the end.
 *
 *   in the VMM:   | RAM's file | shadow file | RAM's file |     the shadow file has the offsets
 *                 |            | k pages     |            |     of the window, and memory only
 *                 |<--------------- window ---------------->|     for pages that are copies
 *
 * A later hvtrace learns all about the window from the name of the shadow file, and which pages are
 * in place from the VMM's mappings. The RAM must be a shared file of small pages: 4 KiB of a huge
 * page cannot be replaced, and private memory could not be mapped again as it was
 * (docs/internals/inject.md).
 * Leaves to others: whether text is patched in this way, other writes. */
#pragma once

#include <stdbool.h>

#include "vmm/guest.h"

struct hv_held_writes;
struct hv_inject;

struct hv_shadow {
	bool wanted;	     /* new changes are made in copies */
	int fd;		     /* the VMM's descriptor of the shadow file; -1: none */
	struct hv_gpa start; /* of the window */
	uint64_t len_bytes;
	uint64_t hva;	  /* of the window in the VMM */
	int ram_fd;	  /* the VMM's descriptor of the RAM's file */
	uint64_t ram_off; /* of the window in the RAM's file */
	uint8_t *host;	  /* the shadow file, mapped here, LEN_BYTES */
	int ram_here;	  /* our descriptor of the RAM's file */
	uint8_t *pages;	  /* by page of the window: enum page_state in the source */
	size_t nr_in_place;
	bool in_doubt; /* the answer to a call was lost, and the call may not have ended */
};

void hv_shadow_init(struct hv_shadow *s);
void hv_shadow_deinit(struct hv_shadow *s);

/* Continues with what an earlier hvtrace left behind, if anything. */
struct hv_err *hv_shadow_find(struct hv_inject *j) hv_must_use;
/* To be called at the begin of each hold: while it is in doubt which copies are in place, looks at
 * the VMM's mappings. ALL_IN_RUN: every vCPU thread is in KVM_RUN, so none executes an injected
 * call any more. */
void hv_shadow_look_again(struct hv_inject *j, bool all_in_run);
/* ENOTSUP: no page of this guest's RAM can be replaced, or something accesses its RAM without the
 * VMM's mappings. */
struct hv_err *hv_shadow_want(struct hv_inject *j) hv_must_use;

/* Copies the pages of GPAS (ascending), outside a hold. */
struct hv_err *hv_shadow_prepare(struct hv_inject *j, const struct hv_gpa *gpas,
				 size_t nr) hv_must_use;
/* Under a hold: makes W in the copies that are not in place yet, which the guest does not see, and
 * appends the rest of it to IN_PLACE, for the keeper (held_writes.h). */
struct hv_err *hv_shadow_write(struct hv_inject *j, const struct hv_hold_write *w,
			       struct hv_held_writes *in_place) hv_must_use;
/* Under the same hold: puts the copies that were written in place, one call for those that are
 * neighbours. Takes ERR, an error since the first write, after which none is put in place, and
 * returns it, or its own error. */
struct hv_err *hv_shadow_put_in_place(struct hv_inject *j, struct hv_err *err) hv_must_use;

/* The byte at GPA of the copy that is in place there, up to the end of the page; NULL: the RAM's
 * own page is mapped there. */
uint8_t *hv_shadow_at(const struct hv_shadow *s, struct hv_gpa gpa);

/* Under a hold of its own: copies what the guest changed in the copies to its RAM, and maps the RAM
 * again. EBUSY: it is not known yet which copies are in place. */
struct hv_err *hv_shadow_put_back(struct hv_inject *j) hv_must_use;
