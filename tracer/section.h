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

/* The name of an address in a module, as it was when the section was taken: section_names.h. */
struct hv_section_name {
	struct hv_gva at;
	char *name;   /* owned; hostile; NULL: it had none */
	char *module; /* owned; likewise */
	uint64_t off; /* from the symbol */
	uint64_t len_bytes;
};

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
	struct hv_section_name *names; /* owned; in the order of addresses */
	size_t nr_names;
};

static inline int hv_section_by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_section_name *)a)->at.v;
	uint64_t y = ((const struct hv_section_name *)b)->at.v;

	return x < y ? -1 : x > y;
}

/* NULL: the name of AT was not kept. */
static inline const struct hv_section_name *hv_section_name_at(const struct hv_section *s,
							       struct hv_gva at)
{
	const struct hv_section_name key = {.at = at};

	if (!s->nr_names)
		return NULL;
	return (const struct hv_section_name *)bsearch(&key, s->names, s->nr_names, sizeof(key),
						       hv_section_by_address);
}

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
	for (size_t i = 0; i < s->nr_names; i++) {
		free(s->names[i].name);
		free(s->names[i].module);
	}
	free(s->names);
	free(s);
}
