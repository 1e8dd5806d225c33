/* SPDX-License-Identifier: GPL-2.0-or-later */
/* function_graph in the guest: checks whether this kernel can be traced, starts and stops tracing,
 * and selects the calls to record.
 *
 * site_trampolines.h decides which sites belong to a graph, returns.h restores return addresses,
 * and arch/ contains the trampolines. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "arch/arch.h"
#include "base/err.h"
#include "base/switch.h"

struct hv_clock;
struct hv_graph_tracer;
struct hv_tracee;

/* Borrows T and CLOCK, the guest's clock. */
struct hv_graph_tracer *hv_graph_tracer_new(struct hv_tracee *t, const struct hv_clock *clock);
void hv_graph_tracer_free(struct hv_graph_tracer *g);

/* Selects the calls of a graph to record. The options can be set at any time, and are kept when no
 * graph is traced. HV_GRAPH_SUBTREE records nothing without an HV_TRAMPOLINE_GRAPH_ROOT site. */
struct hv_graph_options {
	unsigned flags; /* HV_GRAPH_SUBTREE, HV_GRAPH_RETVAL, HV_GRAPH_NO_IRQS, HV_GRAPH_OWN_TIME,
			   HV_GRAPH_HOST, HV_GRAPH_NO_SLEEP (ringbuf/abi.h). The last two take
			   effect with the next hv_site_trampolines_set. HV_GRAPH_HOST needs a
			   kernel with hv_kernel_need_steal_time() */
	unsigned max_depth; /* maximum depth of recorded calls on a stack; 0: no limit */
	uint64_t thresh_ns; /* if not 0, records only returns of calls of at least this duration */
};
void hv_graph_tracer_set_options(struct hv_graph_tracer *g, const struct hv_graph_options *options);

/* Call this before any site calls a trampoline that adds frames. Restores frames that an earlier
 * graph left open, if that is possible now. EOPNOTSUPP or EBUSY with the reason. */
struct hv_err *hv_graph_tracer_start(struct hv_graph_tracer *g) hv_must_use;
/* Call this after the last such site was restored. */
void hv_graph_tracer_stop(struct hv_graph_tracer *g);
/* Switches recording of returns. */
void hv_graph_tracer_record(struct hv_graph_tracer *g, enum hv_switch to);
/* Switches counting of calls (call_counts.h). */
void hv_graph_tracer_count(struct hv_graph_tracer *g, enum hv_switch to);

/* EBUSY: a livepatch is in transition, and a graph, or frames that it left open, prevents the guest
 * from reading its stacks. Returns NULL if no livepatch waits. Call this about once a second. */
struct hv_err *hv_graph_tracer_livepatch(struct hv_graph_tracer *g) hv_must_use;
/* Tries once to restore the return addresses that an ended graph left open. */
void hv_graph_tracer_put_back(struct hv_graph_tracer *g);
/* Call this about once a second. While a graph is traced, frees the return stacks of tasks that
 * died in traced functions, in a hold, once there are many of them. */
void hv_graph_tracer_sweep(struct hv_graph_tracer *g);

/* The sites whose calls change the state of return stacks, as indices into kernel->sites. SIZE_MAX:
 * not needed. */
struct hv_graph_roles {
	size_t sites[HV_NR_ROLES];
};
/* EOPNOTSUPP: the kernel lacks a required site. */
struct hv_err *hv_graph_tracer_find_roles(const struct hv_graph_tracer *g,
					  struct hv_graph_roles *ret) hv_must_use;
enum hv_call_role hv_graph_role(const struct hv_graph_roles *roles, size_t site);
