/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of filters, by which the stub of commit leaves out events before they are in the ring
 * (struct hv_filter_step in ringbuf/abi.h). Which program an event has may change at any time, also
 * while vCPUs obey the one before: a stub leaves an event out only if the file of the event says
 * afterwards what it said before. So nothing is stopped for it.
 *
 * What is left out nobody gets. So a program lets pass what anybody wants, and those who filter
 * look at what has passed all the same: an event may always have none, and then costs more.
 * Leaves to others: what is wanted (tree/instance/publish.h), how a filter becomes a
 * program (tree/settings/filter_program.h), files of events (plug.h). One thread. */
#pragma once

#include "patcher/region.h"

/* A program. NR 0: none. What is behind its steps is 0. */
struct hv_stub_filter {
	struct hv_filter_step steps[HV_FILTER_STEPS_MAX];
	unsigned nr;
};

/* Which programs of the region are used. Zero-initialised: none is, and no file has one. */
struct hv_stub_filters {
	uint64_t nr_changes;		       /* of all files together */
	uint16_t owners[HV_REGION_NR_FILTERS]; /* 1 more than the index of the file; 0: free */
};

/* The file INDEX has FILTER from now on (NULL: none). If all programs are used, it has none. What
 * it has already is left as it is. */
void hv_stub_filters_set(struct hv_stub_filters *s, const struct hv_region *r, unsigned index,
			 const struct hv_stub_filter *filter);
