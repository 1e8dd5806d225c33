/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Estimates how much of its vCPUs' time a guest spends in trampolines, and in which functions: the
 * number of records times the cost of one, which is measured on this host at creation
 * (docs/operators/performance.md). A record costs more under TCG. Calls without records (other
 * tasks, below a threshold, profile) are not included. The rings are untrusted: a guest can make
 * its load look large or small.
 *
 * tree/instance/budget.h limits the load. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/guard.h"

struct hv_load;
struct hv_session;

/* Borrows S, which must outlive it. */
struct hv_load *hv_load_new(const struct hv_session *s);
void hv_load_free(struct hv_load *l);

struct hv_load_function {
	struct hv_gva ip;
	uint64_t cost; /* in an arbitrary unit */
};

struct hv_load_view {
	uint64_t ppm;	   /* load of the most loaded vCPU, in parts per million of its time */
	unsigned cpu;	   /* the most loaded vCPU */
	uint64_t taken_ns; /* time that it spent in trampolines since the last call */
	/* The functions of this vCPU's newest records, the costliest first. Owned. */
	struct hv_load_function *functions;
	size_t nr;
	uint64_t cost; /* of all these records, in the same unit */
};
void hv_load_view_deinit(struct hv_load_view *view);
#define HV_AUTO_LOAD_VIEW hv_cleanup(hv_load_view_deinit)

/* Evaluates the records since the last call, which should be a while ago; the first call only
 * starts the measurement. NOW_NS is monotonic. */
void hv_load_look(struct hv_load *l, uint64_t now_ns, struct hv_load_view *ret);
