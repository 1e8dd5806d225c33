/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/stub_filters.h"

#include "tracer/event_tracer.h"
#include "tracer/event_types.h"
#include "tree/instance/events/event_forks.h"
#include "tree/instance/events/events.h"
#include "tree/instance/dynamic/syscalls.h"

#define RAW_SYSCALLS "raw_syscalls"

/* Whether anybody wants system calls, which are made of both raw events. */
static bool makes_syscalls(const struct hv_instances *all, const struct hv_event_type *type)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	const struct hv_catalogue *c;

	if (!all->syscalls || strcmp(type->system, RAW_SYSCALLS) != 0)
		return false;
	err = hv_event_types_catalogue(all->session->types, &c);
	for (size_t i = 0; !err && i < c->nr; i++)
		if (hv_syscalls_is(&c->types[i]) && hv_instances_want_event(all, &c->types[i]))
			return true;
	return err != NULL;
}

/* Whether IN needs events of TYPE that its filter does not let pass, or others than of the file. */
static bool needs_others(const struct hv_instance *in, const struct hv_event_type *type)
{
	const struct hv_event_ref ref = hv_event_ref_of(type);

	return hv_instance_triggers_need(in, ref) || hv_eprobes_need(in, ref) ||
	       hv_wakeups_need(in, type) || hv_event_forks_need(in, type);
}

bool hv_stub_filter_find(const struct hv_instances *all, const struct hv_event_type *type,
			 struct hv_stub_filter *ret)
{
	struct hv_stub_filter program, sum = {0};

	for (const struct hv_instance *in = &all->top; in; in = in->next) {
		const struct hv_event_filter *filter;

		if (needs_others(in, type))
			return false;
		if (!hv_event_set_has(&in->events, hv_event_ref_of(type)))
			continue;
		filter = hv_event_filters_of(&in->filters, hv_event_ref_of(type));
		if (!filter || !hv_event_filter_program(filter, &program))
			return false;
		if (!sum.nr)
			sum = program;
		else if (!hv_stub_filter_or(&sum, &program))
			return false;
	}
	if (!sum.nr || makes_syscalls(all, type))
		return false;
	*ret = sum;
	return true;
}

void hv_stub_filter_publish(const struct hv_instances *all, const struct hv_event_type *type)
{
	struct hv_stub_filter filter;
	bool may = hv_stub_filter_find(all, type, &filter);

	hv_event_tracer_set_filter(all->session->events, type, may ? &filter : NULL);
}
