/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules for writes into a guest: which of them the warden makes for a service that may have
 * been taken over by the guest. It allows
 *
 * - in the region: anything, since the service has it mapped;
 * - where it wrote before: what was there before its first write;
 * - in a page table: a leaf of the region, or a page of it or a table in it where the guest's
 *   leaves may be too large (arch->make_table), in the part of the kernel's addresses that is
 *   unused (arch->free_window; where that depends on the image's place, arch->image_window), and
 *   its removal;
 * - in text: a call of or a jump into what these leaves map; a static key's nop and jump; a call
 *   or jump to elsewhere in the kernel in place of another (a static call)
 * - in data: a pointer into what the leaves map; what comes where such a pointer is or was (a
 *   return address, the kernel's own probes), or beside one (a probe's function); the address of a
 *   function to which a static call was led, in place of that to which it led before; a count that
 *   goes up or down by one; one bit of a byte (a task's flag, a module's claim)
 *
 * and nothing else. So no write makes the guest execute what is not its own code or hvtrace's. The
 * rules keep no guest from harming itself: it can write all of this without us.
 * Leaves to others: which changes make sense (tracer/), that they are made under a hold. */
#pragma once

#include "vmm/guest.h"

struct hv_rules;

enum hv_adopts {
	HV_ADOPTS_NOTHING,
	/* What hvtrace wrote before these rules began may be put back (recovery of an earlier
	 * session). */
	HV_ADOPTS_EARLIER,
};

/* G and its region are borrowed. */
struct hv_rules *hv_rules_new(struct hv_guest *g, enum hv_adopts adopts);
void hv_rules_free(struct hv_rules *r);
/* From now on this is the region. */
void hv_rules_set_region(struct hv_rules *r, const struct hv_region *region);

/* EPERM: one of WRITES, which are ordered by address, is not allowed; none is noted then. Otherwise
 * notes what is there now, for the places that are written for the first time. */
struct hv_err *hv_rules_check(struct hv_rules *r, const struct hv_hold_write *writes,
			      size_t nr) hv_must_use;
