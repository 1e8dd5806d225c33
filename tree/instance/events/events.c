/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/events.h"

#include "kernel/events/catalogue.h"
#include "tracer/event_types.h"
#include "tracer/host_tracer.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/dynamic/synths.h"
#include "tree/instance/dynamic/syscalls.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/host_events.h"
#include "tree/instance/tasks.h"

/* Returns NULL if the catalogue cannot be read now. */
static const struct hv_catalogue *catalogue_of(const struct hv_instances *all)
{
	const struct hv_catalogue *c = NULL;

	hv_err_free(hv_event_types_catalogue(all->session->types, &c));
	return c;
}

/* If sharing is needed after the change, it starts before (trace.h). */
static struct hv_err *prepare(struct hv_instance *in, struct hv_event_set *events)
{
	struct hv_event_set before = in->events;
	bool shares;

	hv_tasks_learn(in);
	in->events = *events;
	shares = hv_instances_single(in->all) != &in->all->top ||
		 hv_instances_make_any(in->all, events);
	in->events = before;
	hv_instances_drain(in->all);
	return shares ? hv_instances_begin_sharing(in->all) : NULL;
}

/* Sites and tasks depend on whether one or several instances trace. */
static struct hv_err *retrace(struct hv_instance *in)
{
	return hv_instances_share(in->all) ? hv_instance_retrace(in) : NULL;
}

static void take_back(struct hv_instance *in, struct hv_event_set *before)
{
	struct hv_event_switch unused = {0};
	struct hv_err *refused = NULL;

	hv_event_set_deinit(&in->events);
	in->events = *before;
	hv_err_free(hv_publish_switch(in, &unused, &refused));
	hv_err_free(refused);
	hv_skipped_deinit(&unused.left_out);
	hv_err_free(retrace(in));
}

/* -- changes ---------------------------------------------------------------------------------- */

static struct hv_event_set changed(const struct hv_event_set *s, const struct hv_event_switch *by)
{
	struct hv_event_set events = hv_event_set_dup(s);

	for (size_t i = 0; i < by->nr; i++)
		if (by->on)
			hv_event_set_add(&events, hv_event_ref_of(by->types[i]));
		else
			hv_event_set_remove(&events, hv_event_ref_of(by->types[i]));
	return events;
}

/* Disables probes in IN whose functions could not be patched, except those enabled BEFORE, which
 * stay like functions that the guest claims later. Returns whether there are any. */
static bool refuse_kprobes(struct hv_instance *in, const struct hv_event_set *before,
			   struct hv_event_switch *change, struct hv_err **first)
{
	bool any = false;

	for (size_t i = 0; change->on && i < change->nr; i++) {
		const struct hv_event_type *type = change->types[i];
		const struct hv_event_ref ref = hv_event_ref_of(type);
		struct hv_err *why = NULL;

		if (!hv_event_set_has(&in->events, ref) || hv_event_set_has(before, ref))
			continue;
		if (hv_kprobes_is(type) || hv_synths_is(type) || hv_eprobes_is(type))
			hv_event_set_add(&in->probed, ref);
		if (hv_kprobes_is(type))
			why = hv_kprobes_why_not(in->all, type);
		if (!why)
			continue;
		hv_event_switch_refuse(in, change, type, why, first);
		any = true;
	}
	return any;
}

/* Disables the host events in IN if they cannot be recorded now. Those of other instances are
 * retried with the next change. */
static void refuse_hosts(struct hv_instance *in, struct hv_err **first)
{
	struct hv_err *why = hv_host_events_publish(in->all);

	if (!why)
		return;
	hv_host_events_take_away(in);
	hv_err_keep_first(first, hv_err_in(why, HV_HOST_SYSTEM));
}

/* After probes were refused, stops tracepoints from calling functions for them. */
static struct hv_err *release_tracepoints(struct hv_instance *in)
{
	struct hv_event_switch unused = {0};
	struct hv_err *refused = NULL, *err;

	if (!hv_kprobes_have_tracepoints(in->all))
		return NULL;
	err = hv_publish_switch(in, &unused, &refused);
	hv_err_free(refused);
	hv_skipped_deinit(&unused.left_out);
	return err;
}

/* If no named event could be enabled, returns the reason. */
static struct hv_err *why_none(const struct hv_instance *in, struct hv_event_switch *change)
{
	for (size_t i = 0; i < change->nr; i++)
		if (hv_event_set_has(&in->events, hv_event_ref_of(change->types[i])))
			return NULL;
	return change->on ? hv_skipped_take(&change->left_out) : NULL;
}

/* IN takes ownership of EVENTS. */
static struct hv_err *set(struct hv_instance *in, struct hv_event_set *events,
			  struct hv_event_switch *change)
{
	struct hv_event_set before = in->events;
	struct hv_err *refused = NULL, *err;

	err = hv_event_set_is_same(&before, events) ? NULL : prepare(in, events);
	if (err || hv_event_set_is_same(&before, events)) {
		hv_event_set_deinit(events);
		return err;
	}
	in->events = *events;
	err = hv_publish_switch(in, change, &refused);
	if (!err)
		err = retrace(in);
	if (!err && refuse_kprobes(in, &before, change, &refused))
		err = retrace(in);
	if (!err && (refused || hv_skipped_any(&change->left_out)))
		err = release_tracepoints(in);
	if (!err)
		refuse_hosts(in, &refused);
	if (err) {
		hv_err_free(refused);
		take_back(in, &before);
		return err;
	}
	hv_event_set_deinit(&before);
	return refused ? refused : why_none(in, change);
}

/* At the first system call event, prepares how such events are made. */
static struct hv_err *need_syscalls(struct hv_instances *all, const struct hv_event_switch *change)
{
	const struct hv_catalogue *c;
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && !all->syscalls && i < change->nr; i++) {
		if (!change->on || !hv_syscalls_is(change->types[i]))
			continue;
		err = hv_event_types_catalogue(all->session->types, &c);
		if (!err)
			hv_syscalls_need(all, c, change->types[i]);
	}
	return err;
}

/* Drains first, because triggers in earlier events may switch events. */
struct hv_err *hv_instance_switch_events(struct hv_instance *in, struct hv_event_switch *change)
{
	struct hv_event_set events;
	struct hv_err *err = need_syscalls(in->all, change);

	hv_instances_drain(in->all);
	change->left_out = (struct hv_skipped){0};
	if (err)
		return err;
	events = changed(&in->events, change);
	return set(in, &events, change);
}

struct hv_err *hv_instance_end_events(struct hv_instance *in)
{
	struct hv_event_set none = {0};
	struct hv_event_switch change = {0};

	return in->events.nr ? set(in, &none, &change) : NULL;
}

void hv_instances_forget_events(struct hv_instances *all)
{
	if (all->eprobes->nr && catalogue_of(all))
		hv_eprobes_forget(all, catalogue_of(all));
	for (struct hv_instance *in = &all->top; in; in = in->next) {
		const struct hv_catalogue *c =
			in->filters->nr || hv_instance_has_events(in) ? catalogue_of(all) : NULL;
		struct hv_event_set events = {0};

		if (!c)
			continue;
		for (size_t i = 0; i < in->events.nr; i++) {
			const struct hv_event_ref ref = in->events.list[i];
			const struct hv_event_type *type = hv_catalogue_by_id(c, ref.id);

			if (type && type->call.v == ref.call)
				hv_event_set_add(&events, ref);
		}
		hv_event_set_deinit(&in->events);
		in->events = events;
		hv_instance_forget_gone(in, c);
	}
}
