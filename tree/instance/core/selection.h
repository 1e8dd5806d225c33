/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracer of an instance, and the functions, tasks and vCPUs that it is limited to. sites.h and
 * tasks.h apply selections to the guest; tree/files/ shows and sets them. Pure. */
#pragma once

#include "tree/instance/core/tracer.h"
#include "tree/settings/filter.h"
#include "tree/settings/pidlist.h"

/* set_ftrace_filter, set_ftrace_notrace, set_graph_function, set_graph_notrace, and the top
 * instance's stack_trace_filter. */
enum hv_filter_list {
	HV_LIST_FILTER,
	HV_LIST_NOTRACE,
	HV_LIST_GRAPH,
	HV_LIST_GRAPH_NOTRACE,
	HV_LIST_STACK,
	HV_NR_FILTER_LISTS
};
/* The first two lists also exist for tasks: set_ftrace_pid and set_ftrace_notrace_pid;
 * set_event_pid and set_event_notrace_pid. */
#define HV_NR_PID_LISTS 2

struct hv_selection {
	const struct hv_tracer_ops *tracer; /* never NULL */
	struct hv_filter lists[HV_NR_FILTER_LISTS];
	struct hv_modcache waiting[HV_NR_FILTER_LISTS]; /* words of LISTS that wait for modules */
	struct hv_pidlist pids[HV_NR_PID_LISTS];
	struct hv_pidlist event_pids[HV_NR_PID_LISTS]; /* for guest events */
	uint8_t *muted; /* owned, a byte per vCPU; nonzero: excluded by tracing_cpumask */
};

/* Initially the tracer is nop without limits. */
void hv_selection_init(struct hv_selection *sel, unsigned nr_cpus);
void hv_selection_deinit(struct hv_selection *sel);

/* Returns whether set_ftrace_filter and set_ftrace_notrace select the function at IP. Ignores the
 * tracer, which may be nop. */
bool hv_selection_has_function(const struct hv_selection *sel, struct hv_gva ip);
bool hv_selection_has_task(const struct hv_selection *sel, uint32_t pid);
