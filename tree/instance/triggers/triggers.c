/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/triggers/triggers.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/events/catalogue.h"
#include "tracer/events/callers.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/sharing.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/host_made.h"
#include "tree/instance/dynamic/kprobes.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/event_stacks.h"
#include "tree/instance/hist/hists.h"

struct hv_triggers {
	struct hv_trigger_of {
		struct hv_event_ref ref;
		struct hv_event_ref target; /* the event that the trigger switches */
		struct hv_trigger trigger;
		struct hv_event_filter *filter; /* owned; may be NULL */
	} * list;				/* owned, newest first */
	size_t nr;
};

static void forget(struct hv_trigger_of *of)
{
	hv_trigger_deinit(&of->trigger);
	hv_event_filter_free(of->filter);
}

static struct hv_triggers *state_of(const struct hv_instance *in)
{
	return hv_instance_state(in, HV_PART_TRIGGERS);
}

static void deinit(struct hv_instance *in)
{
	struct hv_triggers *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		forget(&s->list[i]);
	free(s->list);
}

static bool acts(const struct hv_instance *in)
{
	return state_of(in)->nr;
}

static bool acts_on(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_triggers *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		if (hv_event_ref_is_same(s->list[i].ref, ref) ||
		    hv_event_ref_is_same(s->list[i].target, ref))
			return true;
	return false;
}

static bool wants_stacks(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_triggers *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].trigger.command == HV_TRIGGER_STACKTRACE &&
		    hv_event_ref_is_same(s->list[i].ref, ref))
			return true;
	return false;
}

bool hv_triggers_have_any(const struct hv_instance *in)
{
	return state_of(in)->nr;
}

bool hv_triggers_have(const struct hv_instance *in, enum hv_trigger_command command)
{
	const struct hv_triggers *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].trigger.command == command)
			return true;
	return false;
}

/* -- changes ----------------------------------------------------------------------------------- */

/* Inserts OF at AT. S takes ownership of its contents. */
static void insert(struct hv_triggers *s, size_t at, struct hv_trigger_of of)
{
	s->list = hv_realloc_array(s->list, s->nr + 1, sizeof(*s->list));
	memmove(s->list + at + 1, s->list + at, (s->nr - at) * sizeof(*s->list));
	s->list[at] = of;
	s->nr++;
}

/* Removes the trigger at AT. The caller owns its contents. */
static struct hv_trigger_of take_out(struct hv_triggers *s, size_t at)
{
	struct hv_trigger_of of = s->list[at];

	s->nr--;
	memmove(s->list + at, s->list + at + 1, (s->nr - at) * sizeof(*s->list));
	return of;
}

/* Returns the index of the trigger of the same type as OF, or s->nr. */
static size_t find_like(const struct hv_triggers *s, const struct hv_trigger_of *of)
{
	size_t at = 0;

	while (at < s->nr && !(hv_event_ref_is_same(s->list[at].ref, of->ref) &&
			       hv_trigger_is_like(&s->list[at].trigger, &of->trigger)))
		at++;
	return at;
}

/* Finds the event that the trigger switches (find_event_file). */
static struct hv_err *find_target(const struct hv_catalogue *c, struct hv_trigger_of *of)
{
	const struct hv_trigger *t = &of->trigger;
	const struct hv_event_type *type;

	if (!hv_trigger_has_target(t))
		return NULL;
	type = hv_catalogue_find(c, t->system, t->event);
	if (!type || !type->is_available)
		return hv_err_new(EINVAL, "the guest has no event %s:%s", t->system, t->event);
	of->target = hv_event_ref_of(type);
	return NULL;
}

static struct hv_err *parse_filter(const struct hv_instance *in, const struct hv_event_type *type,
				   const struct hv_catalogue *c, struct hv_trigger_of *of,
				   struct hv_filter_fault *ret_fault)
{
	const struct hv_filter_scope scope = {hv_instance_session(in)->kernel, c, type,
					      hv_instances_nr_cpus(hv_instance_all(in))};

	if (!of->trigger.filter)
		return NULL;
	of->filter = hv_event_filter_parse(&scope, of->trigger.filter, ret_fault);
	if (of->filter)
		return NULL;
	return hv_err_new(ret_fault->code, "%s at character %zu of '%s'",
			  ret_fault->why ? ret_fault->why : "a comparison is missing",
			  ret_fault->at, of->trigger.filter);
}

/* Prepares everything that OF needs to run. */
static struct hv_err *prepare(struct hv_instance *in, const struct hv_trigger_of *of)
{
	struct hv_err *err = hv_instances_begin_sharing(hv_instance_all(in));

	if (!err && of->trigger.command == HV_TRIGGER_STACKTRACE)
		err = hv_callers_prepare(hv_instance_session(in)->callers);
	if (!err && of->trigger.command == HV_TRIGGER_SNAPSHOT)
		err = hv_buffers_need_snapshot(hv_instance_buffers(in));
	return err;
}

/* On success IN owns the contents of OF. */
static struct hv_err *add(struct hv_instance *in, struct hv_trigger_of *of)
{
	struct hv_triggers *s = state_of(in);
	struct hv_err *err;

	if (find_like(s, of) < s->nr)
		return hv_err_new(EEXIST, "the event already has such a trigger");
	err = prepare(in, of);
	if (err)
		return err;
	insert(s, 0, *of);
	err = hv_instance_publish_triggers(in);
	if (!err)
		err = hv_kprobes_check(hv_instance_all(in), of->ref);
	if (!err && of->target.call)
		err = hv_kprobes_check(hv_instance_all(in), of->target);
	if (err) {
		take_out(s, 0);
		hv_err_free(hv_instance_publish_triggers(in));
	}
	return err;
}

static struct hv_err *remove_at(struct hv_instance *in, size_t at)
{
	struct hv_triggers *s = state_of(in);
	struct hv_trigger_of of = take_out(s, at);
	struct hv_err *err = hv_instance_publish_triggers(in);

	if (err)
		insert(s, at, of);
	else
		forget(&of);
	return err;
}

static struct hv_err *need(struct hv_instance *in, const struct hv_catalogue *c,
			   const struct hv_trigger_of *of, const struct hv_event_type *type)
{
	const struct hv_event_type *target =
		of->target.id ? hv_catalogue_by_id(c, of->target.id) : NULL;
	struct hv_err *err = hv_host_made_need(in, c, type);

	if (!err && of->trigger.command == HV_TRIGGER_STACKTRACE && hv_event_type_is_marker(type))
		err = hv_err_new(EOPNOTSUPP, "markers come from the host, and have no stacks");
	return err || !target ? err : hv_host_made_need(in, c, target);
}

/* As in the kernel, removing a nonexistent trigger succeeds. */
static struct hv_err *run_command(struct hv_instance *in, const struct hv_event_type *type,
				  struct hv_trigger_of *of, struct hv_filter_fault *ret_fault)
{
	struct hv_triggers *s = state_of(in);
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(hv_instance_session(in)->types, &c);
	size_t at;

	if (!err)
		err = find_target(c, of);
	if (!err)
		err = need(in, c, of, type);
	if (!err && !of->trigger.removes)
		err = parse_filter(in, type, c, of, ret_fault);
	if (err)
		return err;
	hv_instances_drain(hv_instance_all(in));
	if (!of->trigger.removes)
		return add(in, of);
	at = find_like(s, of);
	err = at < s->nr ? remove_at(in, at) : NULL;
	if (!err)
		forget(of);
	return err;
}

struct hv_err *hv_instance_write_trigger(struct hv_instance *in, const struct hv_event_type *type,
					 const char *text, struct hv_filter_fault *ret_fault)
{
	struct hv_trigger_of of = {.ref = hv_event_ref_of(type)};
	struct hv_err *err = hv_trigger_parse(text, &of.trigger);

	*ret_fault = (struct hv_filter_fault){0};
	if (err)
		return err;
	err = run_command(in, type, &of, ret_fault);
	if (err)
		forget(&of);
	return err;
}

void hv_instance_triggers_text(struct hv_instance *in, const struct hv_event_type *type,
			       struct hv_text *ret)
{
	const struct hv_triggers *s = state_of(in);
	size_t nr = 0;

	hv_instances_drain(hv_instance_all(in));
	for (size_t i = 0; i < s->nr; i++) {
		if (!hv_event_ref_is_same(s->list[i].ref, hv_event_ref_of(type)))
			continue;
		hv_trigger_text(&s->list[i].trigger, ret);
		nr++;
	}
	nr += hv_hists_text(in, hv_event_ref_of(type), ret);
	if (nr)
		return;
	hv_text_add(ret, "# Available triggers:\n#");
	hv_trigger_names(ret);
	hv_text_add(ret, " hist\n");
}

struct hv_err *hv_instance_truncate_triggers(struct hv_instance *in,
					     const struct hv_event_type *type)
{
	struct hv_triggers *s = state_of(in);
	struct hv_event_ref ref = hv_event_ref_of(type);
	struct hv_err *err = NULL;

	hv_instances_drain(hv_instance_all(in));
	for (size_t i = s->nr; !err && i-- > 0;)
		if (hv_event_ref_is_same(s->list[i].ref, ref) &&
		    hv_trigger_switches_hists(&s->list[i].trigger))
			err = remove_at(in, i);
	return err ? err : hv_instance_end_hists(in, &ref);
}

struct hv_err *hv_instance_end_triggers(struct hv_instance *in)
{
	struct hv_triggers *s = state_of(in);
	struct hv_err *err = NULL;

	hv_instances_drain(hv_instance_all(in));
	while (!err && s->nr)
		err = remove_at(in, s->nr - 1);
	return err ? err : hv_instance_end_hists(in, NULL);
}

static bool is_gone(struct hv_event_ref ref, const struct hv_catalogue *c)
{
	const struct hv_event_type *type = hv_catalogue_by_id(c, ref.id);

	return !type || type->call.v != ref.call;
}

static void forget_gone(struct hv_instance *in, const struct hv_catalogue *c)
{
	struct hv_triggers *s = state_of(in);

	for (size_t i = s->nr; i-- > 0;) {
		struct hv_trigger_of of = s->list[i];

		if (!is_gone(of.ref, c) && !(of.target.call && is_gone(of.target, c)))
			continue;
		take_out(s, i);
		forget(&of);
	}
}

static void forget_of(struct hv_instance *in, struct hv_event_ref ref)
{
	struct hv_triggers *s = state_of(in);

	for (size_t i = s->nr; i-- > 0;) {
		struct hv_trigger_of of = s->list[i];

		if (!hv_event_ref_is_same(of.ref, ref) && !hv_event_ref_is_same(of.target, ref))
			continue;
		take_out(s, i);
		forget(&of);
	}
}

/* -- running ----------------------------------------------------------------------------------- */

static bool is_on(const struct hv_instance *in, struct hv_event_ref ref)
{
	return hv_event_set_has(hv_instance_events(in), ref);
}

/* Returns whether OF would change anything. Otherwise it is not counted. */
static bool would_change(const struct hv_instance *in, const struct hv_trigger_of *of)
{
	switch (of->trigger.command) {
	case HV_TRIGGER_TRACEON:
		return !hv_instance_is_on(in);
	case HV_TRIGGER_TRACEOFF:
		return hv_instance_is_on(in);
	case HV_TRIGGER_ENABLE_EVENT:
		return !is_on(in, of->target);
	case HV_TRIGGER_DISABLE_EVENT:
		return is_on(in, of->target);
	default:
		return true;
	}
}

/* Switches a soft-enabled event: whether its records go into the buffer from now on. */
static void switch_event(struct hv_instance *in, struct hv_event_ref ref, bool on)
{
	if (!on) {
		hv_event_set_remove(hv_instance_events(in), ref);
		return;
	}
	hv_event_set_add(hv_instance_events(in), ref);
	hv_host_made_note_enabled(in, ref);
}

static void act(struct hv_instance *in, struct hv_trigger_of *of, unsigned cpu)
{
	if (!of->trigger.count || !would_change(in, of))
		return;
	if (of->trigger.count != -1)
		of->trigger.count--;
	switch (of->trigger.command) {
	case HV_TRIGGER_TRACEON:
	case HV_TRIGGER_TRACEOFF:
		hv_instance_switch_recording(in, of->trigger.command == HV_TRIGGER_TRACEON);
		return;
	case HV_TRIGGER_SNAPSHOT:
		hv_buffers_swap_snapshot(hv_instance_buffers(in));
		return;
	case HV_TRIGGER_STACKTRACE:
		if (hv_instance_takes_on(in, cpu))
			hv_event_stacks_want(in);
		return;
	case HV_TRIGGER_ENABLE_EVENT:
	case HV_TRIGGER_DISABLE_EVENT:
		switch_event(in, of->target, of->trigger.command == HV_TRIGGER_ENABLE_EVENT);
		return;
	case HV_TRIGGER_ENABLE_HIST:
	case HV_TRIGGER_DISABLE_HIST:
		hv_hists_pause(in, of->target, of->trigger.command == HV_TRIGGER_DISABLE_HIST);
		return;
	}
}

/* Returns whether the trigger acts after the event (EVENT_CMD_FL_POST_TRIGGER). */
static bool is_post(enum hv_trigger_command command)
{
	return command == HV_TRIGGER_TRACEOFF || command == HV_TRIGGER_STACKTRACE;
}

/* Returns whether the kernel reserves the event's record before its triggers run
 * (update_cond_flag). It does if a trigger needs the record's contents, acts after the event, or is
 * a hist trigger. Then a snapshot contains the record, and traceon is too late for it. But if the
 * event also has a filter, the record is built elsewhere first (trace_event_buffer_lock_reserve). A
 * marker's record is always reserved first (tracing_mark_write). */
static bool reserves_first(const struct hv_instance *in, uint32_t id)
{
	const struct hv_triggers *s = state_of(in);

	if (hv_hists_have(in, id))
		return true;
	for (size_t i = 0; i < s->nr; i++)
		if (s->list[i].ref.id == id &&
		    (s->list[i].filter || is_post(s->list[i].trigger.command)))
			return true;
	return false;
}

/* Runs the triggers that act after the event, or if AFTER is false those that act before it.
 * SNAPSHOTS_ARE_AFTER: the trigger snapshot acts after the event. */
static void pull(struct hv_instance *in, const struct hv_event *event, bool snapshots_are_after,
		 bool after)
{
	struct hv_triggers *s = state_of(in);

	for (size_t i = 0; i < s->nr; i++) {
		struct hv_trigger_of *of = &s->list[i];
		enum hv_trigger_command command = of->trigger.command;
		bool is_after =
			is_post(command) || (command == HV_TRIGGER_SNAPSHOT && snapshots_are_after);

		if (of->ref.id == event->id && is_after == after &&
		    (!of->filter || hv_instance_record_passes(in, of->filter, event)))
			act(in, of, event->cpu);
	}
}

void hv_instance_pull_triggers(struct hv_instance *in, const struct hv_event *event,
			       const struct hv_trigger_taker *taker)
{
	const struct hv_hist_output made = {taker->ctx, taker->take_made};
	bool first = event->kind == HV_EVENT_PRINT || reserves_first(in, event->id);
	bool late = first && !hv_instance_is_on(in) && !hv_instance_has_event_filter(in, event->id);

	pull(in, event, first, false);
	taker->take(taker->ctx, late ? HV_TRIGGER_LATE : HV_TRIGGER_IN_TIME);
	hv_instance_count_in_hists(in, event, &made);
	pull(in, event, first, true);
}

const struct hv_part hv_triggers_part = {
	.state_bytes = sizeof(struct hv_triggers),
	.deinit = deinit,
	.acts = acts,
	.acts_on = acts_on,
	.wants_stacks = wants_stacks,
	.forget_gone = forget_gone,
	.forget = forget_of,
};

/* -- function commands that switch events ------------------------------------------------------ */

struct hv_err *hv_event_command_prepare(struct hv_instance *in, char *param,
					struct hv_event_ref *ret, const char **ret_count)
{
	const char *system = strsep(&param, ":");
	const char *event = strsep(&param, ":");
	const struct hv_event_type *type;
	const struct hv_catalogue *c;
	struct hv_err *err;

	if (!event)
		return hv_err_new(EINVAL, "'%s' is not SYSTEM:EVENT", system ? system : "");
	err = hv_event_types_catalogue(hv_instance_session(in)->types, &c);
	if (err)
		return err;
	type = hv_catalogue_find(c, system, event);
	if (!type || !type->is_available)
		return hv_err_new(EINVAL, "the guest has no event %s:%s", system, event);
	if (hv_kprobes_is(type) || hv_eprobes_is(type))
		return hv_err_new(EOPNOTSUPP,
				  "a function's command cannot switch a probe of the session");
	*ret = hv_event_ref_of(type);
	*ret_count = param;
	err = hv_host_made_need(in, c, type);
	return err ? err : hv_instances_begin_sharing(hv_instance_all(in));
}

static bool commands_act_on(const struct hv_instance *in, struct hv_event_ref ref)
{
	for (size_t i = 0; i < hv_instance_commands(in)->nr; i++) {
		const struct hv_func_command_set *set = &hv_instance_commands(in)->sets[i];

		for (size_t j = 0; hv_func_command_has_event(set->command) && j < set->nr; j++)
			if (hv_event_ref_is_same(set->list[j].event, ref))
				return true;
	}
	return false;
}

/* Returns NULL if the type was removed. */
static const struct hv_event_type *find(const struct hv_catalogue *c, struct hv_event_ref ref)
{
	const struct hv_event_type *type = hv_catalogue_by_id(c, ref.id);

	return type && type->call.v == ref.call ? type : NULL;
}

char *hv_event_command_target(const struct hv_instance *in, struct hv_event_ref ref)
{
	const struct hv_event_type *type = NULL;
	const struct hv_catalogue *c;
	HV_AUTO_ERR struct hv_err *err =
		hv_event_types_catalogue(hv_instance_session(in)->types, &c);

	if (!err)
		type = find(c, ref);
	return type ? hv_format("%s:%s", type->system, type->name) : NULL;
}

static void forget_gone_commands(struct hv_instance *in, const struct hv_catalogue *c)
{
	for (size_t i = hv_instance_commands(in)->nr; i-- > 0;) {
		struct hv_func_command_set *set = &hv_instance_commands(in)->sets[i];
		size_t nr = set->nr;

		set->nr = 0;
		for (size_t j = 0; j < nr; j++)
			if (!hv_func_command_has_event(set->command) || find(c, set->list[j].event))
				set->list[set->nr++] = set->list[j];
		if (!set->nr)
			hv_func_commands_drop(hv_instance_commands(in), set);
	}
}

bool hv_event_command_run(struct hv_instance *in, enum hv_func_command_kind command,
			  const struct hv_func_command *probe)
{
	bool on = command == HV_FUNC_COMMAND_ENABLE_EVENT;

	if (hv_event_set_has(hv_instance_events(in), probe->event) == on)
		return false;
	switch_event(in, probe->event, on);
	return true;
}

const struct hv_part hv_event_commands_part = {
	.acts_on = commands_act_on,
	.forget_gone = forget_gone_commands,
};
