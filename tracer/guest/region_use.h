/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records the user of a region in a header at attach, and evaluates it for later services. The
 * header is then untrusted, because the guest's root can write it.
 *
 * patcher/region.h defines the layout; recover.c undoes the changes of a dead service. */
#pragma once

#include "patcher/region.h"

struct hv_tracee;

/* Marks the region as in use: writes the kernel that is traced and the address at which the guest
 * sees the region. */
void hv_region_write_header(const struct hv_tracee *t);

enum hv_region_use {
	HV_REGION_UNUSED,
	HV_REGION_STALE, /* used in an earlier boot of the guest, so none of its changes can be in
			    memory */
	HV_REGION_LIVE,	 /* the guest may contain changes */
};
/* *RET is a checked copy of the header, valid if the use is HV_REGION_LIVE. EUCLEAN: as for
 * hv_region_check_not_mapped, or another release of hvtrace, named in the message, left changes in
 * the guest. */
struct hv_err *hv_region_use(const struct hv_tracee *t, struct hv_region_header *ret,
			     enum hv_region_use *ret_use) hv_must_use;
/* Returns where the guest saw the region, according to a checked header. */
struct hv_gva_range hv_region_range(const struct hv_region_header *header);
/* Returns where the guest saw its landings; empty: it had none. */
struct hv_gva_range hv_region_landings(const struct hv_region_header *header);

/* EUCLEAN: a slot of the guest's page tables leads into the region, so the region must not be
 * cleared. The guest's root can erase a journal or entries that are still needed, and sites may
 * still call the code in the region. */
struct hv_err *hv_region_check_not_mapped(const struct hv_tracee *t) hv_must_use;
