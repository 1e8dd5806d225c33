/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits the fraction of vCPU time that a guest spends in trampolines. If the limit is exceeded,
 * the most expensive functions are put aside: no instance traces them until the tracer or a filter
 * of any instance is set again. tracer/load.h measures; functions.h selects the trampoline of each
 * site. */
#pragma once

#include "base/addr.h"
#include "base/err.h"
#include "base/text.h"

struct hv_instances;
struct hv_part;

extern const struct hv_part hv_budget_part;

/* Measures the load since the last call. If it exceeds LIMIT_PPM, puts aside enough functions to
 * reduce it to four fifths of the limit; *RET_NR is their number. Call every few hundred
 * milliseconds. Returns an error if the guest could not be changed. */
struct hv_err *hv_budget_keep(struct hv_instances *all, uint64_t limit_ppm, uint64_t now_ns,
			      size_t *ret_nr) hv_must_use;
/* Traces the functions again that were put aside, from the next time that sites are published. */
void hv_budget_forget(struct hv_instances *all);
/* The latest measurement, and the vCPU time spent in trampolines while measuring, in total. */
uint64_t hv_budget_load_ppm(const struct hv_instances *all);
uint64_t hv_budget_taken_ns(const struct hv_instances *all);
/* Returns whether the function at IP is put aside. */
bool hv_budget_has(const struct hv_instances *all, struct hv_gva ip);
/* Adds the names of the functions put aside, the most expensive first, separated by commas, then "
 * and N more". Adds nothing if there are none. */
void hv_budget_names(const struct hv_instances *all, struct hv_text *ret);
