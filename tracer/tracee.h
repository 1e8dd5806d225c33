/* The guest that is traced and what is shared with it: its kernel, the region, where the guest sees
 * the region, and the patcher that changes the guest.
 * Leaves to others: what is in the region (stubs.h, region_use.h and the parts of a session), when
 * it is mapped (session.h). One thread. */
#pragma once

#include "kernel/kernel.h"
#include "patcher/patcher.h"

struct hv_tracee {
	struct hv_guest *guest;	  /* borrowed */
	struct hv_kernel *kernel; /* borrowed */
	struct hv_region region;
	struct hv_ring_plan plan;
	/* Where the guest sees the region, from HV_REGION_STUBS_OFF on. The range and HANDLER are 0
	 * until attach has chosen them, or recover has found them. */
	struct hv_gva_range range;
	struct hv_gva handler;	    /* what a graph puts in the place of return addresses */
	struct hv_patcher *patcher; /* owned */
};

/* GUEST and KERNEL are borrowed and outlive it. Nothing is in the guest yet. ENOSPC, EINVAL: the
 * region is too small for so many vCPUs. */
struct hv_err *hv_tracee_new(struct hv_guest *guest, struct hv_kernel *kernel,
			     struct hv_tracee **ret) hv_must_use;
void hv_tracee_free(struct hv_tracee *t);

/* The page-table slots of the range are filled: from here on nothing is written into another boot.
 */
void hv_tracee_bind(struct hv_tracee *t);
/* Whether the guest's page tables lead from the range to the region. False: not any more, as after
 * a reboot. */
struct hv_err *hv_tracee_is_mapped(const struct hv_tracee *t, bool *ret) hv_must_use;

/* Whether BYTES, as many as a site has, are a call into the range when they stand at AT. */
bool hv_tracee_is_call(const struct hv_tracee *t, struct hv_gva at, const uint8_t *bytes);
/* Whether a call into the range stands in the guest where E says, an entry of an untrusted journal.
 * Which stub it calls need not be the one that E says: whoever died may have been changing one for
 * another. The bytes that stand there become E's new ones. */
struct hv_err *hv_tracee_call_stands(const struct hv_tracee *t, struct hv_journal_entry *e,
				     bool *ret) hv_must_use;
