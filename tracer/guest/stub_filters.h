/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filter programs. The commit stub executes them to discard events before they reach the ring
 * (struct hv_filter_step in ringbuf/abi.h).
 *
 * An event's program can change at any time, even while vCPUs execute the old one: a stub discards
 * an event only if the word in the event's file is unchanged afterwards. So nothing needs to stop
 * for a change.
 *
 * Discarded events reach no consumer. So a program passes events that any consumer wants, and the
 * consumers' own filters still check the events that pass. An event without a program works too,
 * but costs more.
 *
 * tree/instance/publish.h chooses the filters, tree/settings/event_filter.h compiles them, plug.h
 * owns the files. One thread. */
#pragma once

#include "patcher/region.h"

/* A program. NR 0: none. Steps after the last one are 0. */
struct hv_stub_filter {
	struct hv_filter_step steps[HV_FILTER_STEPS_MAX];
	unsigned nr;
};

/* Use of the programs in the region. Zero-initialised: none is used. */
struct hv_stub_filters {
	uint64_t nr_changes;		       /* of all files */
	uint16_t owners[HV_REGION_NR_FILTERS]; /* index of the file + 1; 0: free */
};

/* Gives the file INDEX the program FILTER (NULL: none). If all programs are used, the file gets
 * none. Does nothing if the file already has it. */
void hv_stub_filters_set(struct hv_stub_filters *s, const struct hv_region *r, unsigned index,
			 const struct hv_stub_filter *filter);
