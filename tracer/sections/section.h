/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A saved section: its time, place and task, the functions called in it, and the stack at its end.
 * Reference-counted, because a reader may use it while a worse one is found.
 *
 * section_tracer.h finds sections; tree/format/ formats them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "tracer/events/event.h"

/* The name of an address in a module at the time of the section (section_log.h). */
struct hv_section_name {
	struct hv_gva at;
	char *name;   /* owned; untrusted; NULL: no name */
	char *module; /* owned; untrusted; NULL: no name */
	uint64_t off; /* offset in the symbol */
	uint64_t len_bytes;
};

struct hv_section {
	unsigned nr_refs;
	unsigned cpu;
	uint64_t ns;	    /* duration without stolen_ns */
	uint64_t stolen_ns; /* time in which the host did not run the vCPU, as reported to the
			       guest; 0 if not reported (struct kvm_steal_time) */
	/* The ends are like calls: ip is in the function that switched preemption or interrupts off
	 * or on, parent_ip in its caller (0: unknown). */
	struct hv_event from, to;
	/* The task at the end of the section: */
	uint32_t uid;
	int32_t nice;
	uint32_t policy;
	uint32_t rt_priority;
	/* The calls recorded in it, in ring order. Owned. */
	struct hv_event *calls;
	size_t nr_calls;
	uint64_t nr_lost; /* overwritten calls */
	/* Callers of the function that switched preemption or interrupts on, innermost first.
	 * Owned. */
	struct hv_gva *callers;
	size_t nr_callers; /* 0: unknown */
	uint8_t callers_end_early;
	struct hv_section_name *names; /* owned; sorted by address */
	size_t nr_names;
};

static inline int hv_section_by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_section_name *)a)->at.v;
	uint64_t y = ((const struct hv_section_name *)b)->at.v;

	return x < y ? -1 : x > y;
}

/* Returns NULL if the name of AT was not saved. */
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

/* Accepts NULL. */
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
