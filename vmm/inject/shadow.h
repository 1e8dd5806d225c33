/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Patches text by replacing its pages: modified copies of the pages are mapped in the VMM instead
 * of the RAM's own pages, all in one step. KVM drops its mappings of the old pages and maps the
 * copies when the guest accesses them. The RAM's own pages stay unchanged in its file and are
 * mapped again at the end.
 *
 *   in the VMM:   | RAM's file | shadow file | RAM's file |     the shadow file has the offsets
 *                 |            | k pages     |            |     of the range, and memory only
 *                 |<--------------- range ---------------->|     for pages that are copies
 *
 * A later hvtrace reads the properties of the range from the name of the shadow file, and the
 * replaced pages from the VMM's mappings. The RAM must be a shared file of small pages: 4 KiB of a
 * huge page cannot be replaced, and private memory could not be mapped again with its contents
 * (docs/internals/inject.md).
 *
 * The callers decide which text to patch in this way. */
#pragma once

#include <stdbool.h>

#include "vmm/guest.h"
#include "vmm/inject/keeper.h"

struct hv_held_writes;
struct hv_inject;

struct hv_shadow {
	bool wanted;	     /* new changes use copies */
	int fd;		     /* the VMM's descriptor of the shadow file; -1: none */
	struct hv_gpa start; /* of the range */
	uint64_t len_bytes;
	uint64_t hva;	  /* of the range in the VMM */
	int ram_fd;	  /* the VMM's descriptor of the RAM's file */
	uint64_t ram_off; /* of the range in the RAM's file */
	uint8_t *host;	  /* the shadow file, mapped here, LEN_BYTES */
	int ram_here;	  /* this process's descriptor of the RAM's file */
	uint8_t *pages;	  /* by page of the range: enum page_state in the source */
	size_t nr_in_place;
	bool in_doubt; /* the answer to a call was lost, and the call may still be executing */
};

void hv_shadow_init(struct hv_shadow *s);
void hv_shadow_deinit(struct hv_shadow *s);

/* Takes over the replaced pages of an earlier hvtrace, if any. */
struct hv_err *hv_shadow_find(struct hv_inject *j) hv_must_use;
/* Call this at the start of each hold: if the set of replaced pages is in doubt, reads it from the
 * VMM's mappings. A vCPU thread outside KVM_RUN may still execute an injected call. */
void hv_shadow_look_again(struct hv_inject *j, enum hv_vcpus_are vcpus);
/* Fails with ENOTSUP if no page of this guest's RAM can be replaced, or if a device or process
 * accesses its RAM without the VMM's mappings. */
struct hv_err *hv_shadow_want(struct hv_inject *j) hv_must_use;

/* Copies the pages of GPAS (ascending), outside a hold. */
struct hv_err *hv_shadow_prepare(struct hv_inject *j, const struct hv_gpa *gpas,
				 size_t nr) hv_must_use;
/* In a hold: makes W in copies that are not mapped yet, which the guest does not see, and appends
 * the rest of it to IN_PLACE, for the keeper (held_writes.h). */
struct hv_err *hv_shadow_write(struct hv_inject *j, const struct hv_hold_write *w,
			       struct hv_held_writes *in_place) hv_must_use;
/* In the same hold: maps the written copies, with one call for each run of adjacent pages. Takes
 * ERR, an error since the first write; if it is not NULL, maps nothing. Returns ERR or its own
 * error. */
struct hv_err *hv_shadow_put_in_place(struct hv_inject *j, struct hv_err *err) hv_must_use;

/* Returns the byte at GPA in the mapped copy; valid up to the end of the page. Returns NULL if the
 * RAM's own page is mapped there. */
uint8_t *hv_shadow_at(const struct hv_shadow *s, struct hv_gpa gpa);

/* In a separate hold: copies the guest's changes in the copies to its RAM, and maps the RAM again.
 * Fails with EBUSY if the set of replaced pages is still in doubt. */
struct hv_err *hv_shadow_put_back(struct hv_inject *j) hv_must_use;
