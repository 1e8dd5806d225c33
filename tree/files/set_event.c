/* SPDX-License-Identifier: GPL-2.0-or-later */
/* available_events and set_event: guest events by name. */
#include <string.h>

#include "base/prefix.h"
#include "tracer/host_tracer.h"
#include "tracer/session.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/files/event_dirs.h"
#include "tree/files/files.h"
#include "tree/instance/events/host_events.h"
#include "tree/settings/event_set.h"
#include "tree/settings/token.h"

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

/* Only words with the system "host" enable host events. With '!', other words also disable them. */
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
static struct hv_err *obey(struct hv_file *f, const char *text)
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

	return err || !token.len_bytes ? err : obey(f, token.text);
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
