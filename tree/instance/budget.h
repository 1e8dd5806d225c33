/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A limit on the part of its vCPUs' time that a guest spends in stubs. When it is exceeded, the
 * functions that cost most are put aside: no instance traces them any more, until the tracer or a
 * filter of any instance is set again.
 * Leaves to others: measuring (tracer/load.h), which stub a site calls (sites.h). */
#pragma once

#include "tree/settings/filter.h"

struct hv_instances;
struct hv_load;
struct hv_part;

extern const struct hv_part hv_budget_part;

#define HV_BUDGET_NAMED 8

struct hv_budget {
	struct hv_load *load; /* owned; NULL: there was no limit yet */
	uint64_t load_ppm;    /* as it was measured last */
	uint64_t taken_ns;    /* of a vCPU's time in all, while it was measured */
	struct hv_filter aside;
	uint64_t
		named[HV_BUDGET_NAMED]; /* the first of them, in the order in which they were put */
};

/* Measures since the last call, and puts functions aside if LIMIT_PPM is exceeded: so many that
 * what is left should be four fifths of it. *RET_NR is how many. The caller does this every few
 * hundred milliseconds. The error: the guest could not be changed. */
struct hv_err *hv_budget_keep(struct hv_instances *all, uint64_t limit_ppm, uint64_t now_ns,
			      size_t *ret_nr) hv_must_use;
/* Traces again what was put aside, when sites are published next. */
void hv_budget_forget(struct hv_budget *b);
/* Adds the names of the functions that are aside, the costliest first, with commas between and then
 * " and N more". Adds nothing if there are none. */
void hv_budget_names(const struct hv_instances *all, struct hv_text *ret);
