/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A section that was kept: when, where and of which task, the functions that were called in it, and
 * the stack at its end. Counted by references, since the file that shows it may be read while a
 * worse one is found.
 * Leaves to others: where it comes from (section_tracer.h), its text (tree/format/). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tracer/events/event.h"

struct hv_section {
	unsigned nr_refs;
	unsigned cpu;
	uint64_t ns;	    /* without: */
	uint64_t stolen_ns; /* in which the host did not run the vCPU, as it told the guest; 0 if it
			     * does not tell (struct kvm_steal_time) */
	/* Its ends are as a function's call: ip is in the function that switched preemption off or
	 * on, parent_ip in its caller (0: not known). */
	struct hv_event from, to;
	/* Of the task that it ended in: */
	uint32_t uid;
	int32_t nice;
	uint32_t policy;
	uint32_t rt_priority;
	/* The calls that were recorded in it, in the order of the ring. Owned. */
	struct hv_event *calls;
	size_t nr_calls;
	uint64_t nr_lost; /* calls before the end that were overwritten */
	/* The callers of the function that switched preemption on, the innermost first. Owned. */
	struct hv_gva *callers;
	size_t nr_callers; /* 0: it is not known */
	uint8_t callers_end_early;
};

static inline struct hv_section *hv_section_ref(struct hv_section *s)
{
	s->nr_refs++;
	return s;
}

/* NULL is fine. */
static inline void hv_section_unref(struct hv_section *s)
{
	if (!s || --s->nr_refs)
		return;
	free(s->calls);
	free(s->callers);
	free(s);
}
