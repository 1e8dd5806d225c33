/* Text changed by remapping: copies of its pages, with the changes in them, are put under the guest
 * at once by mapping them in the VMM in place of the RAM's own (KVM drops what it had mapped and
 * faults the copies in). The RAM's own pages stay in its file as they were, and come back at the
 * end.
 *
 *   in the VMM:   | RAM's file | shadow file | RAM's file |     the shadow file has the offsets
 *                 |            | k pages     |            |     of the window, and memory only
 *                 |<--------------- window ---------------->|     for pages that are copies
 *
 * The shadow file's name says all that a later hvtrace must know; which pages are in place the
 * VMM's own mappings say. Only RAM that is a shared file of small pages: a page of 4 KiB cannot be
 * put into a huge one, and what would replace private memory could not be taken back without a
 * trace (docs/inject.md). Leaves to others: which way is taken, other writes. */
#pragma once

#include <stdbool.h>

#include "vmm/guest.h"

struct hv_inject;

struct hv_shadow {
	bool wanted;	     /* new changes are made this way */
	int fd;		     /* the VMM's number of the shadow file; -1: none */
	struct hv_gpa start; /* of the window */
	uint64_t len_bytes;
	uint64_t hva;	  /* of the window in the VMM */
	int ram_fd;	  /* the VMM's number */
	uint64_t ram_off; /* of the window in the RAM's file */
	uint8_t *host;	  /* the shadow file here, LEN_BYTES */
	int ram_here;	  /* the RAM's file here */
	uint8_t *pages;	  /* by page of the window: enum in the source */
	size_t nr_standing;
	bool in_doubt; /* the answer to a call is lost, which may be made still */
};

void hv_shadow_init(struct hv_shadow *s);
void hv_shadow_deinit(struct hv_shadow *s);

/* Takes up what an earlier hvtrace left, if anything. */
struct hv_err *hv_shadow_find(struct hv_inject *j) hv_must_use;
/* After each stop of the vCPUs: while calls are in doubt the VMM's mappings say what stands.
 * ALL_IN_RUN: every vCPU thread is in KVM_RUN, so that none is in a call of ours any more. */
void hv_shadow_look_again(struct hv_inject *j, bool all_in_run);
/* ENOTSUP: no RAM of this machine can be changed this way, or somebody beside the VMM's mappings
 * reaches its pages. */
struct hv_err *hv_shadow_want(struct hv_inject *j) hv_must_use;

/* Makes copies of the pages that hold GPAS (ascending), outside a hold. */
struct hv_err *hv_shadow_prepare(struct hv_inject *j, const struct hv_gpa *gpas,
				 size_t nr) hv_must_use;
/* Under a hold: WRITES (ascending) into the copies, which are put in place. Those that have no copy
 * are given to IN_PLACE. */
struct hv_err *hv_shadow_write(struct hv_inject *j, const struct hv_text_write *writes,
			       size_t nr) hv_must_use;

/* The bytes of [GPA, GPA + LEN), within one page, where the guest sees a copy; NULL: it sees its
 * RAM. */
uint8_t *hv_shadow_at(const struct hv_shadow *s, struct hv_gpa gpa);

/* Under a stop of its own: what the guest changed in the copies goes into its RAM, which is mapped
 * again. EBUSY: it is not known yet what stands. */
struct hv_err *hv_shadow_put_back(struct hv_inject *j) hv_must_use;
