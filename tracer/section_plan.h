/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which instructions of a kernel are replaced to measure sections, and how much of the kernel that
 * covers. Looks at the kernel only. Leaves to others: to replace them (detours.h), to measure
 * (section_tracer.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/err.h"

/* What is off in a section. */
enum hv_section_kind {
	HV_SECTION_PREEMPT, /* preemptoff */
	HV_SECTION_IRQ,	    /* irqsoff */
	HV_SECTION_EITHER,  /* preemptirqsoff */
};

struct hv_detour_want;
struct hv_kernel;

/* A place that is not covered. */
struct hv_section_left {
	struct hv_gva at;
	const char *reason; /* static */
};

#define HV_SECTION_LEFT_MAX 64 /* places that are kept to name them */

/* Initialized with zeros. */
struct hv_section_plan {
	struct hv_detour_want *wants; /* owned */
	size_t nr;
	size_t nr_covered;    /* without the calls around the idle loop */
	size_t nr_retargeted; /* of these: calls and jumps; the others are relocated */
	size_t nr_left;	      /* not covered; the first ones: */
	struct hv_section_left left[HV_SECTION_LEFT_MAX];
	size_t nr_named;
};
void hv_section_plan_deinit(struct hv_section_plan *p);

/* Whether the sections that are measured can be trusted, where NR_COVERED of NR places are covered.
 * With less, sections would often be missed. */
bool hv_sections_cover_enough(size_t nr_covered, size_t nr);

enum hv_section_trust {
	HV_SECTION_ENOUGH, /* what covers too little is refused */
	HV_SECTION_FORCED,
};

/* Finds what is to be replaced in K for sections of KIND. EOPNOTSUPP with the reason: its idle loop
 * was not found, too few places can be covered, or not all ways into the kernel. On errors RET is
 * to be deinitialized, too. */
struct hv_err *hv_section_plan_make(const struct hv_kernel *k, enum hv_section_kind kind,
				    enum hv_section_trust trust,
				    struct hv_section_plan *ret) hv_must_use;
