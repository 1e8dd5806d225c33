/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of guest events: format, id, enable, filter, trigger and hist in events/SYSTEM/EVENT/;
 * enable and filter in events/SYSTEM/; enable in events/; available_events and set_event. */
#include <inttypes.h>
#include <string.h>

#include "base/prefix.h"
#include "kernel/events/print_values.h"
#include "tracer/host_tracer.h"
#include "tracer/session.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/format/event_format.h"
#include "tree/instance/events/event_filters.h"
#include "tree/instance/events/match.h"
#include "tree/instance/hist/hists.h"
#include "tree/instance/triggers/triggers.h"
#include "tree/settings/event_set.h"
#include "tree/settings/hist/hist_spec.h"
#include "tree/settings/token.h"

/* -- format, id and hist ----------------------------------------------------------------------- */

/* Returns the fields that hvtrace adds to records of TYPE. */
static struct hv_raw_more more_of(const struct hv_file *f, const struct hv_event_type *type)
{
	struct hv_raw_more more = {0};
	struct hv_raw_layout layout;

	if (strcmp(type->system, "ftrace") == 0 && strcmp(type->name, "funcgraph_exit") == 0)
		hv_path_raw_layout(&f->at, &layout, &more);
	return more;
}

static struct hv_err *fill_format(struct hv_file *f)
{
	const struct hv_catalogue *c = hv_path_catalogue(&f->at);
	const struct hv_event_type *type;
	struct hv_raw_more more;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(f->state, c, &type);
	if (!err && !type->has_fields)
		err = hv_err_new(EOPNOTSUPP, "the kernel creates the fields of this event on first "
					     "use, in a way that hvtrace does not know");
	if (err)
		return err;
	more = more_of(f, type);
	hv_event_format_add(&f->text, c, type, more.list, more.nr);
	return NULL;
}

static struct hv_err *fill_id(struct hv_file *f)
{
	const struct hv_event_type *type;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(f->state, hv_path_catalogue(&f->at), &type);
	if (!err)
		hv_text_printf(&f->text, "%" PRIu32 "\n", type->id);
	return err;
}

static struct hv_err *fill_hist(struct hv_file *f)
{
	const struct hv_event_ref *ref = f->state;
	const struct hv_catalogue *c = hv_path_catalogue(&f->at);
	const struct hv_event_type *type;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(ref, c, &type);
	if (!err)
		hv_instance_hists_text(f->at.instance, *ref, c, &f->text);
	return err;
}

const struct hv_node hv_event_format_node = {
	.reads = HV_RIGHT_READ,
	.help = "the fields of the event, and how it is printed",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_format,
};

const struct hv_node hv_event_id_node = {
	.reads = HV_RIGHT_READ,
	.help = "the number of the event in trace_pipe_raw",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_id,
};

const struct hv_node hv_event_hist_node = {
	.reads = HV_RIGHT_READ,
	.help = "the counts of the event's hist triggers",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_hist,
};

/* -- enable ------------------------------------------------------------------------------------ */

/* enable in events/, events/SYSTEM/ and events/SYSTEM/EVENT/: enables and disables guest events for
 * the instance (event_enable_write, system_enable_write). */

static struct hv_err *value_written(const char *buf, size_t len_bytes, unsigned *ret)
{
	uint64_t value;
	struct hv_err *err = hv_number_written(buf, len_bytes, &value);

	if (!err && value > 1)
		err = hv_err_new(EINVAL, "%" PRIu64 " is neither 0 nor 1", value);
	if (!err)
		*ret = (unsigned)value;
	return err;
}

/* -- enable of one event ----------------------------------------------------------------------- */

static struct hv_err *fill_event(struct hv_file *f)
{
	const struct hv_event_ref *ref = f->state;
	struct hv_instance *in = f->at.instance;
	const struct hv_event_type *type;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(ref, hv_path_catalogue(&f->at), &type);
	if (err)
		return err;
	hv_instances_drain(hv_instance_all(in));
	hv_text_printf(&f->text, "%d%s\n", hv_event_set_has(hv_instance_events(in), *ref),
		       hv_instance_acts_on(in, *ref) || hv_instance_probes(in, *ref) ? "*" : "");
	return NULL;
}

static struct hv_err *write_event(struct hv_file *f, const char *buf, size_t len_bytes,
				  size_t *ret_len)
{
	struct hv_event_switch change = {0};
	const struct hv_event_type *type;
	struct hv_err *err = value_written(buf, len_bytes, &change.on);

	if (!err)
		err = hv_event_ref_find(f->state, hv_path_catalogue(&f->at), &type);
	if (err)
		return err;
	hv_event_switch_add(&change, type);
	err = hv_event_switch_for(f, &change, buf, len_bytes);
	hv_event_switch_deinit(&change);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

/* -- enable of a system, or of all ------------------------------------------------------------- */

/* SYSTEM NULL: all systems. */
static struct hv_err *fill_types(struct hv_file *f, const char *system)
{
	static const char *const states[] = {"0\n", "0\n", "1\n", "X\n"};
	const struct hv_catalogue *c = hv_path_catalogue(&f->at);
	unsigned state = 0;

	if (f->nr_fills)
		return NULL;
	for (size_t i = 0; i < c->nr; i++) {
		const struct hv_event_ref ref = hv_event_ref_of(&c->types[i]);

		if (hv_event_is_of(&c->types[i], system))
			state |= hv_instance_needs_event(f->at.instance, ref) ? 2 : 1;
	}
	hv_text_add(&f->text, states[state]);
	return NULL;
}

static struct hv_err *write_types(struct hv_file *f, const char *system, const char *buf,
				  size_t len_bytes, size_t *ret_len)
{
	const struct hv_catalogue *c = hv_path_catalogue(&f->at);
	struct hv_event_switch change = {0};
	struct hv_err *err = value_written(buf, len_bytes, &change.on);

	if (err)
		return err;
	if (change.on)
		err = hv_event_types_catalogue(hv_file_session(f)->types, &c);
	for (size_t i = 0; !err && i < c->nr; i++)
		if (hv_event_is_of(&c->types[i], system))
			hv_event_switch_add(&change, &c->types[i]);
	if (!err)
		err = hv_event_switch_for(f, &change, buf, len_bytes);
	hv_event_switch_deinit(&change);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

static struct hv_err *fill_system(struct hv_file *f)
{
	const struct hv_event_system_state *state = f->state;

	return fill_types(f, state->name);
}

static struct hv_err *write_system(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	const struct hv_event_system_state *state = f->state;

	return write_types(f, state->name, buf, len_bytes, ret_len);
}

static struct hv_err *fill_all(struct hv_file *f)
{
	return fill_types(f, NULL);
}

static struct hv_err *write_all(struct hv_file *f, const char *buf, size_t len_bytes,
				size_t *ret_len)
{
	return write_types(f, NULL, buf, len_bytes, ret_len);
}

const struct hv_node hv_event_enable_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "1 if the event is recorded, else 0; write 0 or 1",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.fill = fill_event,
	.write = write_event,
};

const struct hv_node hv_event_system_enable_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "1 or 0: all or none of these events are recorded, X: some; write 0 or 1",
	.state_bytes = sizeof(struct hv_event_system_state),
	.open = hv_event_system_open,
	.fill = fill_system,
	.write = write_system,
	.release = hv_event_system_release,
};

const struct hv_node hv_events_enable_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "as enable in the directories below, for all events",
	.fill = fill_all,
	.write = write_all,
};

/* -- filter ------------------------------------------------------------------------------------ */

/* filter in events/SYSTEM/EVENT/ and events/SYSTEM/: filters the guest events of the instance
 * (event_filter_write, subsystem_filter_write). */

/* Returns the written text up to a NUL, without trailing white space (memdup_user_nul, strstrip).
 * The caller frees it. */
static struct hv_err *filter_written(const char *buf, size_t len_bytes, char **ret)
{
	size_t len = strnlen(buf, len_bytes);
	char *filter;

	if (len_bytes > HV_EVENT_FILTER_MAX)
		return hv_err_new(EINVAL, "a filter of %zu bytes is too long", len_bytes);
	while (len && strchr(" \t\n\v\f\r", buf[len - 1]))
		len--;
	filter = hv_alloc(len + 1);
	memcpy(filter, buf, len);
	*ret = filter;
	return NULL;
}

/* "0" removes a filter. */
static bool is_removal(const char *filter)
{
	return strcmp(filter + strspn(filter, " \t\n\v\f\r"), "0") == 0;
}

static struct hv_err *set(struct hv_file *f, const struct hv_event_type *type, const char *filter,
			  const char *why)
{
	struct hv_filter_fault fault;
	struct hv_err *err;

	err = hv_instance_set_event_filter(f->at.instance, type, filter, why, &fault);
	if (err && fault.code)
		hv_file_log_fault(f, "event filter parse error", fault.why ? fault.why : "Error",
				  filter, fault.at);
	return err;
}

/* -- filter of one event ----------------------------------------------------------------------- */

static void show_filter(struct hv_file *f)
{
	const char *text =
		hv_event_filters_text(f->at.instance, *(const struct hv_event_ref *)f->state);

	hv_text_printf(&f->text, "%s\n", text ? text : "none");
}

static struct hv_err *write_filter(struct hv_file *f, const char *buf, size_t len_bytes,
				   size_t *ret_len)
{
	HV_AUTO_FREE char *filter = NULL;
	const struct hv_event_type *type;
	struct hv_err *err = filter_written(buf, len_bytes, &filter);

	if (!err)
		err = hv_event_ref_find(f->state, hv_path_catalogue(&f->at), &type);
	if (err)
		return err;
	if (is_removal(filter))
		hv_instance_remove_event_filter(f->at.instance, type);
	else
		err = set(f, type, filter, NULL);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

/* -- filter of a system ------------------------------------------------------------------------ */

static void show_system_filter(struct hv_file *f)
{
	hv_text_add(&f->text,
		    "### global filter ###\n"
		    "# Use this to set filters for multiple events.\n"
		    "# Only events with the given fields will be affected.\n"
		    "# If no events are modified, an error message will be displayed here\n");
}

/* If the filter is wrong for an event, the event loses its filter, but the write succeeds
 * (process_system_preds). */
static struct hv_err *set_for(struct hv_file *f, const struct hv_event_type *type,
			      const char *filter)
{
	struct hv_err *err =
		set(f, type, filter, "Couldn't find or set field in one of a subsystem's events");

	if (!f->has_logged)
		return err;
	f->has_logged = 0;
	hv_err_free(err);
	return NULL;
}

static struct hv_err *write_system_filter(struct hv_file *f, const char *buf, size_t len_bytes,
					  size_t *ret_len)
{
	const struct hv_event_system_state *state = f->state;
	HV_AUTO_FREE char *filter = NULL;
	const struct hv_catalogue *c = hv_path_catalogue(&f->at);
	struct hv_err *err = filter_written(buf, len_bytes, &filter);
	size_t nr = 0;

	for (size_t i = 0; !err && i < c->nr; i++) {
		if (!hv_event_is_of(&c->types[i], state->name))
			continue;
		nr++;
		if (is_removal(filter))
			hv_instance_remove_event_filter(f->at.instance, &c->types[i]);
		else
			err = set_for(f, &c->types[i], filter);
	}
	if (!err && !nr)
		err = hv_err_new(ENODEV, "the guest no longer has these events");
	if (!err)
		*ret_len = len_bytes;
	return err;
}

const struct hv_node hv_event_filter_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "which of these events are recorded, as in 'common_pid == 1 && comm ~ \"init*\"';\n"
		"write 0 to record all",
	.state_bytes = sizeof(struct hv_event_ref),
	.open = hv_event_ref_open,
	.show = show_filter,
	.write = write_filter,
};

const struct hv_node hv_event_system_filter_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "a filter written here is set for each event below that has its fields",
	.state_bytes = sizeof(struct hv_event_system_state),
	.open = hv_event_system_open,
	.show = show_system_filter,
	.write = write_system_filter,
	.release = hv_event_system_release,
};

/* -- trigger ----------------------------------------------------------------------------------- */

/* trigger in events/SYSTEM/EVENT/: actions that each event of the type triggers
 * (event_trigger_regex_write, trigger_show). */

#define TRIGGER_MAX 4095 /* PAGE_SIZE - 1 */

static struct hv_err *fill_trigger(struct hv_file *f)
{
	const struct hv_event_type *type;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	err = hv_event_ref_find(f->state, hv_path_catalogue(&f->at), &type);
	if (!err)
		hv_instance_triggers_text(f->at.instance, type, &f->text);
	return err;
}

static struct hv_err *open_trigger(struct hv_file *f)
{
	const struct hv_event_type *type = hv_path_event_type(&f->at);
	struct hv_err *err = hv_event_ref_open(f);

	if (err || !hv_file_truncates(f))
		return err;
	return hv_instance_truncate_triggers(f->at.instance, type);
}

static void log_filter(struct hv_file *f, const char *text, const struct hv_filter_fault *fault)
{
	const char *filter = strstr(text, " if ");

	if (fault->code && filter)
		hv_file_log_fault(f, "event filter parse error", fault->why ? fault->why : "Error",
				  filter + strlen(" if "), fault->at);
}

static struct hv_err *run_hist_command(struct hv_file *f, const struct hv_event_type *type,
				       const char *text)
{
	HV_AUTO_FREE char *where = hv_format("hist:%s:%s", type->system, type->name);
	HV_AUTO_FREE char *command = hv_hist_spec_command(text);
	struct hv_hist_refusal why;
	struct hv_err *err = hv_instance_write_hist(f->at.instance, type, text, &why);

	if (err)
		log_filter(f, text, &why.filter);
	for (unsigned i = 0; i < why.hist.nr; i++)
		hv_file_log_fault(f, where, why.hist.list[i].why, command, why.hist.list[i].at);
	return err;
}

static struct hv_err *run_command(struct hv_file *f, const struct hv_event_type *type,
				  const char *text)
{
	struct hv_filter_fault fault;
	struct hv_err *err;

	if (hv_hist_spec_is(text))
		return run_hist_command(f, type, text);
	err = hv_instance_write_trigger(f->at.instance, type, text, &fault);
	if (err)
		log_filter(f, text, &fault);
	return err;
}

static struct hv_err *write_trigger(struct hv_file *f, const char *buf, size_t len_bytes,
				    size_t *ret_len)
{
	HV_AUTO_FREE char *text = hv_name_written(buf, len_bytes);
	const struct hv_event_type *type;
	struct hv_err *err;

	if (len_bytes > TRIGGER_MAX)
		return hv_err_new(EINVAL, "a trigger of %zu bytes is too long", len_bytes);
	err = hv_event_ref_find(f->state, hv_path_catalogue(&f->at), &type);
	if (!err && len_bytes)
		err = run_command(f, type, text);
	if (!err)
		*ret_len = len_bytes;
	return err;
}

/* Programs search README for the features of the kernel, so some phrases are the kernel's own:
 * libtracefs needs "trace(<synthetic_event>,param list)" to use this form of the action. */
static const char *more_of_keys(const struct hv_kernel *kernel)
{
	int64_t unused;

	return hv_print_value_enumerator(kernel, "FILTER_STACKTRACE", &unused)
		       ? ";\na key can be any field, or the special string 'common_stacktrace'"
		       : "";
}

const struct hv_node hv_event_trigger_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "the action that each of these events triggers: traceon, traceoff, snapshot,\n"
		"enable_event:SYSTEM:EVENT, disable_event:SYSTEM:EVENT, enable_hist:SYSTEM:EVENT,\n"
		"disable_hist:SYSTEM:EVENT; then :COUNT, 'if FILTER';\n"
		"hist:keys=FIELD[,FIELD...][:values=FIELD[,FIELD]][:<var1>=<field|var_ref|"
		"numeric_literal>,...]\n"
		"[:sort=FIELD[.descending][,FIELD]][:size=N][:name=NAME][:clock=CLOCK]"
		"[:nohitcount]\n"
		"[:pause|:cont|:clear][:<handler>.<action>...] [if FILTER];\n"
		"FIELD is a field, hitcount, common_timestamp, common_cpu, or an expression of "
		"these,\n"
		"numbers and $VAR (+ - * /), with a modifier: .hex .sym .sym-offset .syscall "
		".execname\n"
		".log2 .buckets=N .usecs .percent .graph;\n"
		"handlers: onmatch(SYSTEM.EVENT), onmax(var), onchange(var); actions:\n"
		"trace(<synthetic_event>,param list), <synthetic_event>(param list), "
		"save(FIELD,...),\n"
		"snapshot(); a param is $VAR, SYSTEM.EVENT.$VAR, FIELD or SYSTEM.EVENT.FIELD;\n"
		"a '!' before it removes it",
	.more_help = more_of_keys,
	.state_bytes = sizeof(struct hv_event_ref),
	.open = open_trigger,
	.fill = fill_trigger,
	.write = write_trigger,
};

/* -- available_events and set_event ------------------------------------------------------------ */

#define WORD_SIZE_MAX 128 /* EVENT_BUF_SIZE + 1 */

static struct hv_err *catalogue_of(const struct hv_file *f, const struct hv_catalogue **ret)
{
	return hv_event_types_catalogue(hv_file_session(f)->types, ret);
}

static struct hv_err *fill_available(struct hv_file *f)
{
	const struct hv_catalogue *c;
	struct hv_err *err = f->nr_fills ? NULL : catalogue_of(f, &c);

	if (err || f->nr_fills)
		return err;
	for (size_t i = 0; i < c->nr; i++)
		if (c->types[i].is_available)
			hv_text_printf(&f->text, "%s:%s\n", c->types[i].system, c->types[i].name);
	return NULL;
}

static struct hv_err *fill_set_event(struct hv_file *f)
{
	struct hv_instance *in = f->at.instance;
	const struct hv_catalogue *c;
	struct hv_err *err;

	if (f->nr_fills)
		return NULL;
	hv_instances_drain(hv_instance_all(in));
	if (!hv_instance_has_events(in))
		return NULL;
	err = catalogue_of(f, &c);
	for (size_t i = 0; !err && i < c->nr; i++)
		if (hv_instance_needs_event(in, hv_event_ref_of(&c->types[i])))
			hv_text_printf(&f->text, "%s:%s\n", c->types[i].system, c->types[i].name);
	return err;
}

/* ftrace_event_set_open() */
static struct hv_err *open_set_event(struct hv_file *f)
{
	return hv_file_truncates(f) ? hv_instance_end_events(f->at.instance) : NULL;
}

/* Returns whether W selects TYPE. Without '!', only a word with the system "host" selects host
 * events. With '!', any word can select them. */
static bool is_meant(const struct hv_event_word *w, const struct hv_event_type *type)
{
	const char *system = w->system ? w->system : w->either;

	if (!type->is_available ||
	    !hv_event_word_matches(w, type->system, type->name, type->module))
		return false;
	return !hv_host_events_is(type) || w->is_not ||
	       (system && strcmp(system, HV_HOST_SYSTEM) == 0);
}

static struct hv_err *no_such(const struct hv_file *f, const char *text)
{
	const struct hv_err *why = hv_host_tracer_why_not(hv_file_session(f)->host);

	if (!why || !hv_starts_with(text, HV_HOST_SYSTEM))
		return hv_err_new(EINVAL, "'%s': the guest has no such event", text);
	return hv_err_new(why->code, "'%s': events of the host cannot be recorded: %s", text,
			  why->message);
}

/* Switches the events that TEXT names (ftrace_set_clr_event). */
static struct hv_err *switch_named(struct hv_file *f, const char *text)
{
	HV_AUTO_FREE char *copy = hv_strdup(text);
	struct hv_event_word word = hv_event_word_parse(copy);
	struct hv_event_switch change = {.on = !word.is_not};
	const struct hv_catalogue *c;
	struct hv_err *err = catalogue_of(f, &c);

	if (err)
		return err;
	for (size_t i = 0; i < c->nr; i++)
		if (is_meant(&word, &c->types[i]))
			hv_event_switch_add(&change, &c->types[i]);
	if (change.nr)
		err = hv_event_switch_for(f, &change, text, strlen(text));
	else
		err = no_such(f, text);
	hv_event_switch_deinit(&change);
	return err;
}

/* The end of the write ends a word, even without trailing white space (ftrace_event_write()). */
static struct hv_err *write_set_event(struct hv_file *f, const char *buf, size_t len_bytes,
				      size_t *ret_len)
{
	struct hv_token token = {0};
	struct hv_err *err = hv_token_take(&token, WORD_SIZE_MAX, buf, len_bytes, ret_len);

	return err || !token.len_bytes ? err : switch_named(f, token.text);
}

const struct hv_node hv_available_events_node = {
	.reads = HV_RIGHT_READ,
	.help = "the guest's own events that its kernel can record",
	.fill = fill_available,
};

const struct hv_node hv_set_event_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "the guest's own events that are recorded: SYSTEM:EVENT, a SYSTEM or an EVENT; *\n"
		"stands for all; !EVENT switches off, truncating the file all",
	.open = open_set_event,
	.fill = fill_set_event,
	.write = write_set_event,
};
