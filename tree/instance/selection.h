/* What an instance traces: the tracer, and the functions, tasks and vCPUs it is limited to.
 * Leaves to others: what the selections of all instances make of the guest (sites.h, tasks.h), and
 * the files in which they are written (tree/files/). Pure. */
#pragma once

#include "tree/settings/filter.h"
#include "tree/settings/modcache.h"
#include "tree/settings/pidlist.h"
#include "tree/settings/tracer_names.h"

/* set_ftrace_filter, set_ftrace_notrace, set_graph_function, set_graph_notrace. */
enum hv_filter_list { HV_LIST_FILTER, HV_LIST_NOTRACE, HV_LIST_GRAPH, HV_LIST_GRAPH_NOTRACE };
#define HV_NR_FILTER_LISTS 4
/* The first two also exist for tasks: set_ftrace_pid and set_ftrace_notrace_pid. */
#define HV_NR_PID_LISTS	   2

struct hv_selection {
	enum hv_tracer tracer;
	struct hv_filter lists[HV_NR_FILTER_LISTS];
	struct hv_modcache waiting[HV_NR_FILTER_LISTS]; /* words of LISTS for modules to come */
	struct hv_pidlist pids[HV_NR_PID_LISTS];
	uint8_t *muted; /* owned, a byte a vCPU; not 0: tracing_cpumask leaves the vCPU out */
};

/* The tracer is nop; nothing is limited. */
void hv_selection_init(struct hv_selection *sel, unsigned nr_cpus);
void hv_selection_deinit(struct hv_selection *sel);

/* Whether set_ftrace_filter and set_ftrace_notrace let the function at IP through. The tracer,
 * which may be nop, is not asked. */
bool hv_selection_has_function(const struct hv_selection *sel, struct hv_gva ip);
bool hv_selection_has_task(const struct hv_selection *sel, uint32_t pid);
