/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event programs. The commit stub executes an event's program to read memory for its probes, and
 * records the results after the entry (struct hv_fetch_step in ringbuf/abi.h).
 *
 * An event's program can change at any time, even while vCPUs execute the old one: the old one
 * stays unchanged until its entry has been free for longer than all others. So nothing needs to
 * stop for a change. Events recorded during the change have the results of the old or the new
 * program.
 *
 * tree/settings/kprobe.h defines the reads, tree/instance/dynamic/eprobes.h lists the probes,
 * plug.h owns the files. One thread. */
#pragma once

#include <stddef.h>

#include "patcher/region.h"

/* A program. NR 0: none. Steps after the last one are 0. */
struct hv_stub_program {
	struct hv_fetch_step steps[HV_FETCH_STEPS_MAX];
	size_t nr;
};

/* Maximum number of events with a program; one entry stays free for changes. */
#define HV_STUB_PROGRAMS_MAX (HV_REGION_NR_READS - 1)

/* Use of the programs in the region. Zero-initialised: none is used. */
struct hv_stub_programs {
	uint16_t owners[HV_REGION_NR_READS]; /* index of the file + 1; 0: free */
	unsigned next;			     /* the entry used longest ago, if it is free */
};

/* Gives the file INDEX the program PROGRAM (NULL: none). Such a file must have no filter
 * (publish.h). Does nothing if the file already has it. If no program is free, the file gets
 * none. */
void hv_stub_programs_set(struct hv_stub_programs *s, const struct hv_region *r, unsigned index,
			  const struct hv_stub_program *program);
