/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/publish.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "kernel/events/catalogue.h"
#include "tracer/guest/actions.h"
#include "tracer/host_tracer.h"
#include "tracer/tracepoints/event_tracer.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/host_made.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/dynamic/synths.h"
#include "tree/instance/dynamic/syscalls.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/event_stacks.h"
#include "tree/instance/events/match.h"
#include "tree/instance/events/user_stacks.h"
#include "tree/instance/functions.h"

/* -- skipped events ---------------------------------------------------------------------------- */

static void add_busy(struct hv_skipped *l, const struct hv_event_type *type, struct hv_err *why)
{
	if (l->nr_busy < HV_SKIPPED_NAMES)
		l->busy[l->nr_busy] = (struct hv_skipped_event){
			hv_format("%s:%s", type->system, type->name), why};
	else
		hv_err_free(why);
	l->nr_busy++;
}

/* Takes ownership of WHY. EOPNOTSUPP means that TYPE can never be recorded. */
static void skipped_add(struct hv_skipped *l, const struct hv_event_type *type, struct hv_err *why)
{
	if (why->code != EOPNOTSUPP) {
		add_busy(l, type, why);
		return;
	}
	l->nr_never++;
	hv_err_keep_first(&l->never, hv_err_in(why, "%s:%s", type->system, type->name));
}

static bool skipped_any(const struct hv_skipped *l)
{
	return l->nr_never || l->nr_busy;
}

/* Returns the reason for the first event, with its name, and empties L. Returns NULL if L is
 * empty. */
static struct hv_err *skipped_take(struct hv_skipped *l)
{
	struct hv_err *first;

	if (l->nr_busy) {
		first = hv_err_in(l->busy[0].why, "%s", l->busy[0].name);
		l->busy[0].why = NULL;
	} else {
		first = l->never;
		l->never = NULL;
	}
	hv_skipped_deinit(l);
	return first;
}

struct hv_err *hv_skipped_never(const struct hv_skipped *l, size_t nr)
{
	if (!l->never)
		return NULL;
	return hv_err_new(EOPNOTSUPP, "%zu of %zu events cannot be recorded, as %s", l->nr_never,
			  nr, l->never->message);
}

static size_t nr_named(const struct hv_skipped *l)
{
	return l->nr_busy < HV_SKIPPED_NAMES ? l->nr_busy : HV_SKIPPED_NAMES;
}

static bool has_reason_of(const struct hv_skipped *l, size_t a, size_t b)
{
	return strcmp(l->busy[a].why->message, l->busy[b].why->message) == 0;
}

/* Adds the reason for event FIRST, and all later events with the same reason. Does nothing if an
 * earlier event has this reason. */
static void add_reason(const struct hv_skipped *l, size_t first, struct hv_text *ret)
{
	for (size_t i = 0; i < first; i++)
		if (has_reason_of(l, i, first))
			return;
	hv_text_printf(ret, "%s (%s): %s", first ? ";" : "", l->busy[first].why->message,
		       l->busy[first].name);
	for (size_t i = first + 1; i < nr_named(l); i++)
		if (has_reason_of(l, i, first))
			hv_text_printf(ret, ", %s", l->busy[i].name);
}

struct hv_err *hv_skipped_busy(const struct hv_skipped *l, size_t nr)
{
	HV_AUTO_TEXT struct hv_text why = {0};

	if (!l->nr_busy)
		return NULL;
	for (size_t i = 0; i < nr_named(l); i++)
		add_reason(l, i, &why);
	if (l->nr_busy > HV_SKIPPED_NAMES)
		hv_text_printf(&why, "; and %zu more", l->nr_busy - HV_SKIPPED_NAMES);
	return hv_err_new(EBUSY, "%zu of %zu events cannot be recorded now%s", l->nr_busy, nr,
			  why.data);
}

void hv_skipped_deinit(struct hv_skipped *l)
{
	hv_err_free(l->never);
	for (size_t i = 0; i < nr_named(l); i++) {
		free(l->busy[i].name);
		hv_err_free(l->busy[i].why);
	}
	*l = (struct hv_skipped){0};
}

/* -- needs of all instances -------------------------------------------------------------------- */

#define RAW_SYSCALLS "raw_syscalls"

/* The events that the guest records for the instances. */
struct wanted {
	struct hv_event_want *list; /* owned */
	size_t nr;
	struct hv_trampoline_filter *filters;	/* owned; referenced by LIST */
	struct hv_trampoline_program *programs; /* owned; referenced by LIST */
};

static void wanted_deinit(struct wanted *w)
{
	hv_event_wants_deinit(w->list, w->nr);
	free(w->list);
	free(w->filters);
	free(w->programs);
}

/* Each probe of a tracepoint has its own type. */
static bool is_same(const struct hv_event_type *a, const struct hv_event_type *b)
{
	return a == b || (a->reg_kind == HV_EVENT_REG_PROBESTUB && b->reg_kind == a->reg_kind &&
			  a->call.v == b->call.v);
}

static struct hv_event_want *find_want(const struct wanted *w, const struct hv_event_type *type)
{
	for (size_t i = 0; i < w->nr; i++)
		if (is_same(w->list[i].type, type))
			return &w->list[i];
	return NULL;
}

/* Finds the type that must be enabled in the guest in order to get TYPE. */
static struct hv_err *find_recorded(const struct hv_instances *all, const struct hv_catalogue *c,
				    const struct hv_event_type *type,
				    const struct hv_event_type **ret)
{
	struct hv_err *err = NULL;

	*ret = type;
	if (!hv_syscalls_is(type))
		return NULL;
	if (hv_syscalls_has_memory(type))
		err = hv_actions_check_fetch(hv_instances_session(all)->actions);
	return err ? err : hv_syscalls_carrier(all, c, type, ret);
}

/* Returns whether TYPE does not need an enabled event in the guest. */
static bool is_made(const struct hv_event_type *type)
{
	return hv_event_type_is_marker(type) || hv_kprobes_is(type) || hv_host_events_is(type) ||
	       hv_synths_is(type) || hv_eprobes_is(type);
}

static bool any_wants_stacks(const struct hv_instances *all, const struct hv_event_type *type)
{
	const struct hv_event_ref ref = hv_event_ref_of(type);

	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_instance_wants_stacks(in, ref))
			return true;
	return false;
}

static bool any_wants_user_stacks(const struct hv_instances *all, const struct hv_event_type *type)
{
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		if (hv_user_stacks_are_wanted(in, type))
			return true;
	return false;
}

/* Stores the types that are recorded with stacks. */
static void note_stacks(struct hv_instances *all, const struct wanted *w)
{
	struct hv_event_set recorded = {0};

	for (size_t i = 0; i < w->nr; i++)
		if (w->list[i].has_stacks)
			hv_event_set_add(&recorded, hv_event_ref_of(w->list[i].type));
	hv_event_stacks_set_recorded(all, recorded);
}

/* Adds the tracepoints that must call functions for TYPE, a probe's type. */
static void collect_tracepoints(const struct hv_instances *all, const struct hv_event_type *type,
				struct wanted *ret)
{
	const struct hv_event_type *tracepoint;
	size_t index = 0;

	while ((tracepoint = hv_kprobes_tracepoint(all, type->id, &index)))
		if (!find_want(ret, tracepoint))
			ret->list[ret->nr++].type = tracepoint;
}

/* RET has room for all types of C and all probes. */
static void collect(const struct hv_instances *all, const struct hv_catalogue *c,
		    struct wanted *ret)
{
	for (size_t i = 0; i < c->nr; i++) {
		HV_AUTO_ERR struct hv_err *err = NULL;
		const struct hv_event_type *type;
		struct hv_event_want *want;

		if (hv_kprobes_is(&c->types[i]) && hv_instances_want_event(all, &c->types[i]))
			collect_tracepoints(all, &c->types[i], ret);
		if (is_made(&c->types[i]) || !hv_instances_want_event(all, &c->types[i]))
			continue;
		err = find_recorded(all, c, &c->types[i], &type);
		if (err)
			continue;
		want = find_want(ret, type);
		if (!want) {
			want = &ret->list[ret->nr++];
			want->type = type;
		}
		want->has_stacks |= any_wants_stacks(all, &c->types[i]);
		if (any_wants_user_stacks(all, &c->types[i]))
			want->program = hv_user_stacks_program(all);
	}
}

/* -- filters in the guest ---------------------------------------------------------------------- */

/* Returns whether any instance wants system call events, which are derived from both raw events. */
static bool makes_syscalls(const struct hv_instances *all, const struct hv_event_type *type)
{
	HV_AUTO_ERR struct hv_err *err = NULL;
	const struct hv_catalogue *c;

	if (!hv_syscalls_are_known(all) || strcmp(type->system, RAW_SYSCALLS) != 0)
		return false;
	err = hv_event_types_catalogue(hv_instances_session(all)->types, &c);
	for (size_t i = 0; !err && i < c->nr; i++)
		if (hv_syscalls_is(&c->types[i]) && hv_instances_want_event(all, &c->types[i]))
			return true;
	return err != NULL;
}

/* Returns whether IN needs events of TYPE that its filter rejects, or needs them for something
 * other than the event file, or the guest cannot filter them because it reads user stacks. */
static bool needs_others(const struct hv_instance *in, const struct hv_event_type *type)
{
	const struct hv_event_ref ref = hv_event_ref_of(type);

	return hv_instance_acts_on(in, ref) || hv_instance_probes(in, ref) ||
	       hv_instance_follows(in, type) || hv_user_stacks_are_wanted(in, type);
}

static bool find_filter(const struct hv_instances *all, const struct hv_event_type *type,
			struct hv_trampoline_filter *ret)
{
	struct hv_trampoline_filter program, sum = {0};

	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		const struct hv_event_filter *filter;

		if (needs_others(in, type))
			return false;
		if (!hv_event_set_has(hv_instance_events(in), hv_event_ref_of(type)))
			continue;
		filter = hv_event_filters_of(in, hv_event_ref_of(type));
		if (!filter || !hv_event_filter_program(filter, &program))
			return false;
		if (!sum.nr)
			sum = program;
		else if (!hv_trampoline_filter_or(&sum, &program))
			return false;
	}
	if (!sum.nr || makes_syscalls(all, type))
		return false;
	*ret = sum;
	return true;
}

void hv_publish_filter(const struct hv_instances *all, const struct hv_event_type *type)
{
	struct hv_trampoline_filter filter;
	bool may = find_filter(all, type, &filter);

	hv_event_tracer_set_filter(hv_instances_session(all)->events, type, may ? &filter : NULL);
}

/* Determines the filters that the guest can apply to the events of W. */
static void find_filters(const struct hv_instances *all, struct wanted *w)
{
	size_t nr = 0;

	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		nr += hv_event_filters_nr_right(in);
	w->filters = hv_alloc((nr + 1) * sizeof(*w->filters));
	for (size_t i = nr = 0; i < w->nr; i++)
		if (find_filter(all, w->list[i].type, &w->filters[nr]))
			w->list[i].filter = &w->filters[nr++];
}

/* Builds the programs that read memory for the events of W. The events that need only a user stack
 * share a program. */
static struct hv_err *find_programs(const struct hv_instances *all, const struct hv_catalogue *c,
				    struct wanted *w)
{
	const struct hv_trampoline_program none = {0}, *first;
	struct hv_err *err = NULL;
	bool has_shared = false;
	size_t nr = 0;

	if (!hv_eprobes_nr(all) && !hv_syscalls_are_known(all))
		return NULL;
	w->programs = hv_alloc((hv_eprobes_nr(all) + 2) * sizeof(*w->programs));
	for (size_t i = 0; !err && i < w->nr; i++) {
		struct hv_trampoline_program *program = &w->programs[nr];

		first = w->list[i].program ? w->list[i].program : &none;
		*program = *first;
		err = hv_eprobes_program(all, c, w->list[i].type, program);
		if (!err)
			err = hv_syscall_reads_add(all, c, w->list[i].type, program);
		if (program->nr == first->nr) {
			has_shared |= first->nr != 0;
			continue;
		}
		w->list[i].program = program;
		nr++;
	}
	if (!err && nr + has_shared > HV_TRAMPOLINE_PROGRAMS_MAX)
		err = hv_err_new(ENOSPC, "probes read memory for more than %zu events",
				 (size_t)HV_TRAMPOLINE_PROGRAMS_MAX);
	return err;
}

/* Disables TYPE in IN, because of WHY, which it takes over. CHANGE skips TYPE if WHY is EOPNOTSUPP,
 * or if it is EBUSY or ENODEV and CHANGE names several events. Otherwise the request fails: WHY
 * becomes *FIRST unless that is set. */
static void event_switch_refuse(struct hv_instance *in, struct hv_event_switch *change,
				const struct hv_event_type *type, struct hv_err *why,
				struct hv_err **first)
{
	hv_event_set_remove(hv_instance_events(in), hv_event_ref_of(type));
	if (why->code == EOPNOTSUPP ||
	    ((why->code == EBUSY || why->code == ENODEV) && change->nr > 1))
		skipped_add(&change->skipped, type, why);
	else
		hv_err_keep_first(first, hv_err_in(why, "%s:%s", type->system, type->name));
}

/* Returns why a tracepoint does not call a function for TYPE, a probe's type. NULL: all do. */
static struct hv_err *why_not_called(const struct hv_instances *all, const struct wanted *w,
				     const struct hv_event_type *type)
{
	const struct hv_event_type *tracepoint;
	size_t index = 0;

	while ((tracepoint = hv_kprobes_tracepoint(all, type->id, &index))) {
		const struct hv_event_want *want = find_want(w, tracepoint);

		if (want && want->why_not)
			return hv_err_copy(want->why_not);
	}
	return NULL;
}

/* Returns why TYPE is not recorded, or NULL. */
static struct hv_err *why_not(const struct hv_instances *all, const struct hv_catalogue *c,
			      const struct wanted *w, const struct hv_event_type *type)
{
	const struct hv_event_type *recorded;
	const struct hv_event_want *want = NULL;
	struct hv_err *err;

	if (hv_kprobes_is(type))
		return why_not_called(all, w, type);
	if (hv_eprobes_is(type)) {
		type = hv_eprobes_probed(all, c, type);
		if (!type)
			return hv_err_new(ENODEV, "the event that it probes is gone");
	}
	err = find_recorded(all, c, type, &recorded);
	if (!err)
		want = find_want(w, recorded);
	return want && want->why_not ? hv_err_copy(want->why_not) : err;
}

/* Disables in IN, which has just requested them, the events that could not be enabled. Events of
 * other instances are already enabled. */
static struct hv_err *take_refusals(struct hv_instance *in, const struct hv_catalogue *c,
				    struct hv_event_switch *change, const struct wanted *w)
{
	struct hv_err *first = NULL;

	for (size_t i = 0; i < c->nr; i++) {
		const struct hv_event_ref ref = hv_event_ref_of(&c->types[i]);
		struct hv_err *why = NULL;

		if (hv_event_set_has(hv_instance_events(in), ref) || hv_instance_acts_on(in, ref) ||
		    hv_instance_follows(in, &c->types[i]))
			why = why_not(hv_instance_all(in), c, w, &c->types[i]);
		if (why)
			event_switch_refuse(in, change, &c->types[i], why, &first);
	}
	return first;
}

/* Publishes the needs of all instances after CHANGE of IN's events. *RET_REFUSED: why the first
 * event of IN cannot be recorded, apart from those that CHANGE skips; NULL: none. */
static struct hv_err *publish_switch(struct hv_instance *in, struct hv_event_switch *change,
				     struct hv_err **ret_refused)
{
	struct hv_session *s = hv_instance_session(in);
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(s->types, &c);
	hv_cleanup(wanted_deinit) struct wanted wanted = {0};

	if (err)
		return err;
	wanted.list =
		hv_alloc((c->nr + hv_kprobes_nr(hv_instance_all(in)) + 1) * sizeof(*wanted.list));
	collect(hv_instance_all(in), c, &wanted);
	find_filters(hv_instance_all(in), &wanted);
	err = find_programs(hv_instance_all(in), c, &wanted);
	if (err)
		return err;
	err = hv_event_tracer_set(s->events, wanted.list, wanted.nr);
	if (err)
		return err;
	note_stacks(hv_instance_all(in), &wanted);
	*ret_refused = take_refusals(in, c, change, &wanted);
	return NULL;
}

/* A refused event stays among the needs of the instances, and is refused again with the next
 * change; the caller removes its trigger. */
struct hv_err *hv_publish_events(struct hv_instance *in)
{
	struct hv_event_switch change = {.on = 1};
	struct hv_err *refused = NULL, *err = publish_switch(in, &change, &refused);

	if (!err && !refused)
		refused = skipped_take(&change.skipped);
	hv_skipped_deinit(&change.skipped);
	return err ? err : refused;
}

/* -- events of an instance --------------------------------------------------------------------- */

/* Returns NULL if the catalogue cannot be read now. */
static const struct hv_catalogue *catalogue_of(const struct hv_instances *all)
{
	const struct hv_catalogue *c = NULL;

	hv_err_free(hv_event_types_catalogue(hv_instances_session(all)->types, &c));
	return c;
}

/* If sharing is needed after the change, it starts before (trace.h). */
static struct hv_err *prepare(struct hv_instance *in, struct hv_event_set *events)
{
	struct hv_event_set before = *hv_instance_events(in);
	bool shares;

	hv_tasks_learn(in);
	*hv_instance_events(in) = *events;
	shares =
		hv_instances_single(hv_instance_all(in)) != hv_instances_top(hv_instance_all(in)) ||
		hv_instances_make_any(hv_instance_all(in), events);
	*hv_instance_events(in) = before;
	hv_instances_drain(hv_instance_all(in));
	return shares ? hv_instances_begin_sharing(hv_instance_all(in)) : NULL;
}

/* Sites and tasks depend on whether one or several instances trace. */
static struct hv_err *retrace(struct hv_instance *in)
{
	return hv_instances_share(hv_instance_all(in)) ? hv_instance_retrace(in) : NULL;
}

static void take_back(struct hv_instance *in, struct hv_event_set *before)
{
	struct hv_event_switch unused = {0};
	struct hv_err *refused = NULL;

	hv_event_set_deinit(hv_instance_events(in));
	*hv_instance_events(in) = *before;
	hv_err_free(publish_switch(in, &unused, &refused));
	hv_err_free(refused);
	hv_skipped_deinit(&unused.skipped);
	hv_err_free(retrace(in));
}

/* -- changes ----------------------------------------------------------------------------------- */

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

/* Disables the probes that CHANGE enabled in IN but whose functions could not be patched. Probes
 * that were enabled BEFORE stay enabled. Returns whether any were disabled. */
static bool refuse_kprobes(struct hv_instance *in, const struct hv_event_set *before,
			   struct hv_event_switch *change, struct hv_err **first)
{
	bool any = false;

	for (size_t i = 0; change->on && i < change->nr; i++) {
		const struct hv_event_type *type = change->types[i];
		const struct hv_event_ref ref = hv_event_ref_of(type);
		struct hv_err *why = NULL;

		if (!hv_event_set_has(hv_instance_events(in), ref) || hv_event_set_has(before, ref))
			continue;
		if (hv_kprobes_is(type) || hv_synths_is(type) || hv_eprobes_is(type))
			hv_host_made_note_enabled(in, ref);
		if (hv_kprobes_is(type))
			why = hv_kprobes_why_not(hv_instance_all(in), type);
		if (!why)
			continue;
		event_switch_refuse(in, change, type, why, first);
		any = true;
	}
	return any;
}

/* Disables the host events in IN if they cannot be recorded now. Those of other instances are
 * retried with the next change. */
static void refuse_hosts(struct hv_instance *in, struct hv_err **first)
{
	struct hv_err *why = hv_host_events_publish(hv_instance_all(in));

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

	if (!hv_kprobes_have_tracepoints(hv_instance_all(in)))
		return NULL;
	err = publish_switch(in, &unused, &refused);
	hv_err_free(refused);
	hv_skipped_deinit(&unused.skipped);
	return err;
}

/* If no named event could be enabled, returns the reason. */
static struct hv_err *why_none(const struct hv_instance *in, struct hv_event_switch *change)
{
	for (size_t i = 0; i < change->nr; i++)
		if (hv_event_set_has(hv_instance_events(in), hv_event_ref_of(change->types[i])))
			return NULL;
	return change->on ? skipped_take(&change->skipped) : NULL;
}

/* IN takes ownership of EVENTS. */
static struct hv_err *set(struct hv_instance *in, struct hv_event_set *events,
			  struct hv_event_switch *change)
{
	struct hv_event_set before = *hv_instance_events(in);
	struct hv_err *refused = NULL, *err;

	err = hv_event_set_is_same(&before, events) ? NULL : prepare(in, events);
	if (err || hv_event_set_is_same(&before, events)) {
		hv_event_set_deinit(events);
		return err;
	}
	*hv_instance_events(in) = *events;
	err = publish_switch(in, change, &refused);
	if (!err)
		err = retrace(in);
	if (!err && refuse_kprobes(in, &before, change, &refused))
		err = retrace(in);
	if (!err && (refused || skipped_any(&change->skipped)))
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

	for (size_t i = 0; !err && !hv_syscalls_are_known(all) && i < change->nr; i++) {
		if (!change->on || !hv_syscalls_is(change->types[i]))
			continue;
		err = hv_event_types_catalogue(hv_instances_session(all)->types, &c);
		if (!err)
			hv_syscalls_need(all, c, change->types[i]);
	}
	return err;
}

/* Drains first, because triggers in earlier events may switch events. */
struct hv_err *hv_instance_switch_events(struct hv_instance *in, struct hv_event_switch *change)
{
	struct hv_event_set events;
	struct hv_err *err = need_syscalls(hv_instance_all(in), change);

	hv_instances_drain(hv_instance_all(in));
	change->skipped = (struct hv_skipped){0};
	if (err)
		return err;
	events = changed(hv_instance_events(in), change);
	return set(in, &events, change);
}

struct hv_err *hv_instance_end_events(struct hv_instance *in)
{
	struct hv_event_set none = {0};
	struct hv_event_switch change = {0};

	return hv_instance_events(in)->nr ? set(in, &none, &change) : NULL;
}

void hv_instances_forget_events(struct hv_instances *all)
{
	if (hv_eprobes_nr(all) && catalogue_of(all))
		hv_eprobes_forget(all, catalogue_of(all));
	for (struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		const struct hv_catalogue *c = hv_event_filters_nr(in) || hv_instance_has_events(in)
						       ? catalogue_of(all)
						       : NULL;
		struct hv_event_set events = {0};

		if (!c)
			continue;
		for (size_t i = 0; i < hv_instance_events(in)->nr; i++) {
			const struct hv_event_ref ref = hv_instance_events(in)->list[i];
			const struct hv_event_type *type = hv_catalogue_by_id(c, ref.id);

			if (type && type->call.v == ref.call)
				hv_event_set_add(&events, ref);
		}
		hv_event_set_deinit(hv_instance_events(in));
		*hv_instance_events(in) = events;
		hv_instance_forget_gone(in, c);
	}
}
