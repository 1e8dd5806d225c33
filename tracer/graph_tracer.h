/* SPDX-License-Identifier: GPL-2.0-or-later */
/* function_graph in the guest: whether this kernel can be traced so, start and end of tracing, and
 * which calls are recorded.
 * Leaves to others: which sites are in a graph (site_stubs.h), return addresses that are still
 * replaced (returns.h), what the guest does (arch/). One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/err.h"

struct hv_clock;
struct hv_graph_tracer;
struct hv_tracee;

/* Borrows T; and CLOCK, the guest's. */
struct hv_graph_tracer *hv_graph_tracer_new(struct hv_tracee *t, const struct hv_clock *clock);
void hv_graph_tracer_free(struct hv_graph_tracer *g);

/* Which calls of a graph are recorded. The options can be set at any time, and are kept while no
 * graph is traced. HV_GRAPH_SUBTREE without any HV_STUB_GRAPH_ROOT site records nothing. */
struct hv_graph_options {
	unsigned flags; /* HV_GRAPH_SUBTREE, HV_GRAPH_RETVAL, HV_GRAPH_NO_IRQS, HV_GRAPH_OWN_TIME,
			   HV_GRAPH_HOST, HV_GRAPH_NO_SLEEP (ringbuf/abi.h). The last two take
			   effect with the next hv_site_stubs_set. HV_GRAPH_HOST is for kernels
			   with hv_kernel_need_steal_time() only */
	unsigned max_depth; /* frames recorded of a stack; 0: no limit */
	uint64_t thresh_ns; /* not 0: only returns of calls that took at least this long are
			       recorded */
};
void hv_graph_tracer_set_options(struct hv_graph_tracer *g, const struct hv_graph_options *options);

/* Called before any site calls a stub that raises frames. Puts frames back that an earlier graph
 * left open, if that is possible now. EOPNOTSUPP, EBUSY with the reason. */
struct hv_err *hv_graph_tracer_start(struct hv_graph_tracer *g) hv_must_use;
/* Called after the last such site was restored. */
void hv_graph_tracer_stop(struct hv_graph_tracer *g);
/* Switches the recording of returns. */
void hv_graph_tracer_record(struct hv_graph_tracer *g, unsigned on);
/* Switches the counting of calls (call_counts.h). */
void hv_graph_tracer_count(struct hv_graph_tracer *g, unsigned on);

/* EBUSY: a livepatch is in transition, and a graph, or frames that it left open, keeps the guest
 * from reading its stacks. NULL: no livepatch waits. Call this about once a second. */
struct hv_err *hv_graph_tracer_livepatch(struct hv_graph_tracer *g) hv_must_use;
/* Tries once to put back the return addresses that an ended graph left open. */
void hv_graph_tracer_put_back(struct hv_graph_tracer *g);
/* Called about once a second. While a graph is traced, and once there are many return stacks of
 * tasks that died in traced functions, frees these in a hold. */
void hv_graph_tracer_sweep(struct hv_graph_tracer *g);

/* The sites whose calls change the state of return stacks, as indices into kernel->sites. SIZE_MAX:
 * no such site is needed. */
struct hv_graph_roles {
	size_t sites[HV_NR_ROLES];
};
/* EOPNOTSUPP: the kernel has no site that is needed for this. */
struct hv_err *hv_graph_tracer_find_roles(const struct hv_graph_tracer *g,
					  struct hv_graph_roles *ret) hv_must_use;
enum hv_call_role hv_graph_role(const struct hv_graph_roles *roles, size_t site);
