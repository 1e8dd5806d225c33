/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of events, by which the stub of commit reads memory for probes of an event, and records
 * what it has read behind the entry (struct hv_fetch_step in ringbuf/abi.h). Which program an event
 * has may change at any time, also while vCPUs obey the one before: that stays as it is until its
 * place has been free for the longest time of all. So nothing is stopped for it, and each event
 * that is recorded meanwhile has the results of the one or of the other. Leaves to others: what is
 * read (tree/settings/kprobe.h), which probes there are (tree/instance/dynamic/eprobes.h), files of
 * events (plug.h). One thread. */
#pragma once

#include <stddef.h>

#include "patcher/region.h"

/* A program. NR 0: none. What is behind its steps is 0. */
struct hv_stub_program {
	struct hv_fetch_step steps[HV_FETCH_STEPS_MAX];
	size_t nr;
};

/* At most so many events have one: a place is free for a change. */
#define HV_STUB_PROGRAMS_MAX (HV_REGION_NR_READS - 1)

/* Which places of the region are used. Zero-initialised: none is, and no file has one. */
struct hv_stub_programs {
	uint16_t owners[HV_REGION_NR_READS]; /* 1 more than the index of the file; 0: free */
	unsigned next;			     /* it was used longest ago, if it is free */
};

/* The file INDEX has PROGRAM from now on (NULL: none), and then no filter (publish.h). What it
 * has already is left as it is. If all places are used, it has none. */
void hv_stub_programs_set(struct hv_stub_programs *s, const struct hv_region *r, unsigned index,
			  const struct hv_stub_program *program);
