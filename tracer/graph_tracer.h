/* function_graph in the guest: whether this kernel can be traced so, its start and end, and what of
 * it is recorded.
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

/* Borrows T and CLOCK, the guest's. */
struct hv_graph_tracer *hv_graph_tracer_new(struct hv_tracee *t, const struct hv_clock *clock);
void hv_graph_tracer_free(struct hv_graph_tracer *g);

/* What of a graph is recorded; may be set at any time, and is kept while no graph is traced.
 * HV_GRAPH_SUBTREE without any site that is HV_STUB_GRAPH_ROOT records nothing. */
struct hv_graph_options {
	unsigned flags;	   /* HV_GRAPH_SUBTREE, HV_GRAPH_RETVAL, HV_GRAPH_NO_IRQS, HV_GRAPH_OWN_TIME
			      (ringbuf/abi.h) */
	unsigned no_sleep; /* not 0: times are without what a task was off the CPU for. Obeyed from
			      the next hv_site_stubs_set on */
	unsigned max_depth; /* frames recorded of a stack; 0: no limit */
	uint64_t thresh_ns; /* not 0: only returns are recorded, of calls that took as long */
};
void hv_graph_tracer_set_options(struct hv_graph_tracer *g, const struct hv_graph_options *options);

/* Before any site calls a stub that raises frames. Those that an earlier graph left open are put
 * back, if that can be done now. EOPNOTSUPP, EBUSY with the reason. */
struct hv_err *hv_graph_tracer_start(struct hv_graph_tracer *g) hv_must_use;
/* After the last such site has been restored. */
void hv_graph_tracer_stop(struct hv_graph_tracer *g);
/* Whether returns are recorded from now on. */
void hv_graph_tracer_record(struct hv_graph_tracer *g, unsigned on);
/* Whether calls are counted from now on (call_counts.h). */
void hv_graph_tracer_count(struct hv_graph_tracer *g, unsigned on);

/* EBUSY: a livepatch is in transition, and a graph or what it left open keeps the guest from
 * reading its stacks. NULL: none waits. Ask each second or so. */
struct hv_err *hv_graph_tracer_livepatch(struct hv_graph_tracer *g) hv_must_use;
/* Tries once to put back the return addresses that a graph which has ended left open. */
void hv_graph_tracer_put_back(struct hv_graph_tracer *g);
/* While a graph is traced, return stacks of tasks that died in traced functions are given free, in
 * a hold, once they are many. Ask each second or so. */
void hv_graph_tracer_sweep(struct hv_graph_tracer *g);

/* The sites whose calls mean something to return stacks, as indices into kernel->sites; SIZE_MAX:
 * none is needed. */
struct hv_graph_roles {
	size_t sites[HV_NR_ROLES];
};
/* EOPNOTSUPP: the kernel has none that tells what is needed. */
struct hv_err *hv_graph_tracer_find_roles(const struct hv_graph_tracer *g,
					  struct hv_graph_roles *ret) hv_must_use;
enum hv_call_role hv_graph_role(const struct hv_graph_roles *roles, size_t site);
