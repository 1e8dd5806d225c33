/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/core/selection.h"

#include <stdlib.h>

#include "tree/instance/core/tracer.h"

const struct hv_tracer_ops hv_tracer_nop = {HV_TRACER_IS(nop, NOP)};

void hv_selection_init(struct hv_selection *sel, unsigned nr_cpus)
{
	*sel = (struct hv_selection){.tracer = &hv_tracer_nop, .muted = hv_alloc(nr_cpus)};
}

void hv_selection_deinit(struct hv_selection *sel)
{
	for (unsigned i = 0; i < HV_NR_FILTER_LISTS; i++) {
		hv_filter_deinit(&sel->lists[i]);
		hv_modcache_clear(&sel->waiting[i]);
	}
	for (unsigned i = 0; i < HV_NR_PID_LISTS; i++) {
		hv_pidlist_deinit(&sel->pids[i]);
		hv_pidlist_deinit(&sel->event_pids[i]);
	}
	free(sel->muted);
}

bool hv_selection_has_function(const struct hv_selection *sel, struct hv_gva ip)
{
	const struct hv_filter *filter = &sel->lists[HV_LIST_FILTER];

	return (hv_filter_is_all(filter) || hv_filter_has(filter, ip)) &&
	       !hv_filter_has(&sel->lists[HV_LIST_NOTRACE], ip);
}

bool hv_selection_has_task(const struct hv_selection *sel, uint32_t pid)
{
	const struct hv_pidlist *only = &sel->pids[HV_LIST_FILTER];

	return (!only->nr || hv_pidlist_has(only, pid)) &&
	       !hv_pidlist_has(&sel->pids[HV_LIST_NOTRACE], pid);
}
