/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of its vCPUs' time a guest spends in stubs, and in which functions, as its rings tell:
 * records times what one costs. What a record costs is measured on this host when the load is made
 * (docs/operators/performance.md says how); under TCG a record costs the guest more. Calls that
 * record nothing (of other tasks, below a threshold, of a profile) are not seen. The guest can
 * write into its rings what it likes: it can make a load look large or small. Leaves to others:
 * what is done about it (tree/instance/budget.h). One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/guard.h"

struct hv_load;
struct hv_session;

/* Borrows S, which outlives it. */
struct hv_load *hv_load_new(const struct hv_session *s);
void hv_load_free(struct hv_load *l);

struct hv_load_function {
	struct hv_gva ip;
	uint64_t cost; /* in an unit of its own */
};

struct hv_load_view {
	uint64_t ppm;	   /* of the time of the vCPU with the largest load, parts per million */
	unsigned cpu;	   /* that vCPU */
	uint64_t taken_ns; /* of its time since the last call */
	/* What the newest records of this vCPU are of, the costliest function first. Owned. */
	struct hv_load_function *functions;
	size_t nr;
	uint64_t cost; /* of all these records, in the same unit */
};
void hv_load_view_deinit(struct hv_load_view *view);
#define HV_AUTO_LOAD_VIEW hv_cleanup(hv_load_view_deinit)

/* Looks at what was recorded since the last call, which was a while ago; the first call only
 * begins. NOW_NS is monotonic. */
void hv_load_look(struct hv_load *l, uint64_t now_ns, struct hv_load_view *ret);
