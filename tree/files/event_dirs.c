/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/files/event_dirs.h"

#include <string.h>

#include "tracer/tracepoints/event_types.h"
#include "tree/files/files.h"
#include "tree/format/tracer_types.h"
#include "tree/instance/events/host_events.h"

const struct hv_catalogue *hv_place_catalogue(const struct hv_place *at)
{
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(hv_instance_session(at->instance)->types, &c);

	if (!err)
		return c;
	hv_err_free(err);
	return hv_tracer_types();
}

bool hv_place_raw_layout(const struct hv_place *at, struct hv_raw_layout *ret,
			 struct hv_event_field *host)
{
	hv_raw_layout_init(ret, hv_place_catalogue(at));
	return hv_options_on(hv_instance_options(at->instance), HV_OPT_FUNCGRAPH_HOST) &&
	       hv_raw_layout_add_host(ret, host);
}

/* In a path in events/SYSTEM/, `entry` is the index of the system. It is valid only until the
 * guest's modules are read again. */
static const struct hv_event_system *system_of(const struct hv_place *at)
{
	const struct hv_catalogue *c = hv_place_catalogue(at);

	return at->entry < c->nr_systems ? &c->systems[at->entry] : NULL;
}

/* In a path in events/SYSTEM/EVENT/, `entry` is the id of the type. */
const struct hv_event_type *hv_place_event_type(const struct hv_place *at)
{
	return hv_catalogue_by_id(hv_place_catalogue(at), at->entry);
}

struct hv_err *hv_event_ref_find(const struct hv_event_ref *ref, const struct hv_catalogue *c,
				 const struct hv_event_type **ret)
{
	const struct hv_event_type *type = hv_catalogue_by_id(c, ref->id);

	if (!type || type->call.v != ref->call)
		return hv_err_new(ENODEV, "the guest's module that had this event was removed");
	*ret = type;
	return NULL;
}

struct hv_err *hv_event_ref_open(struct hv_file *f)
{
	const struct hv_event_type *type = hv_place_event_type(&f->at);
	struct hv_event_ref *ref = f->state;

	if (!type)
		return hv_err_new(ENODEV, "the guest no longer has this event");
	*ref = hv_event_ref_of(type);
	return NULL;
}

struct hv_err *hv_event_system_open(struct hv_file *f)
{
	const struct hv_event_system *system = system_of(&f->at);
	struct hv_event_system_state *state = f->state;

	if (!system)
		return hv_err_new(ENODEV, "the guest no longer has these events");
	state->name = hv_strdup(system->name);
	return NULL;
}

void hv_event_system_release(struct hv_file *f)
{
	struct hv_event_system_state *state = f->state;

	free(state->name);
}

bool hv_event_is_of(const struct hv_event_type *type, const char *system)
{
	if (!system)
		return type->is_available && !hv_host_events_is(type);
	return type->is_available && strcmp(type->system, system) == 0;
}

void hv_event_switch_add(struct hv_event_switch *change, const struct hv_event_type *type)
{
	change->types = hv_realloc_array(change->types, change->nr + 1, sizeof(*change->types));
	change->types[change->nr++] = type;
}

void hv_event_switch_deinit(struct hv_event_switch *change)
{
	free(change->types);
	hv_skipped_deinit(&change->left_out);
}

struct hv_err *hv_event_switch_for(struct hv_file *f, struct hv_event_switch *change,
				   const char *buf, size_t len_bytes)
{
	struct hv_err *err = hv_instance_switch_events(f->at.instance, change);
	HV_AUTO_ERR struct hv_err *never = hv_skipped_never(&change->left_out, change->nr);
	HV_AUTO_ERR struct hv_err *busy = hv_skipped_busy(&change->left_out, change->nr);

	if (never)
		hv_file_log_error(f, never, buf, len_bytes);
	if (busy)
		hv_file_log_error(f, busy, buf, len_bytes);
	return err;
}

bool hv_event_system_can_switch(const struct hv_place *dir)
{
	const struct hv_event_system *system = system_of(dir);
	const struct hv_catalogue *c = hv_place_catalogue(dir);

	for (size_t i = 0; system && i < system->nr; i++)
		if (hv_catalogue_at(c, system, i)->is_available)
			return true;
	return false;
}

bool hv_event_can_switch(const struct hv_place *dir)
{
	const struct hv_event_type *type = hv_place_event_type(dir);

	return type && type->is_available;
}

/* Programs pass the id to perf_event_open(), which accepts types that can be registered. */
bool hv_event_has_id(const struct hv_place *dir)
{
	const struct hv_event_type *type = hv_place_event_type(dir);

	return type && type->id && type->reg_kind != HV_EVENT_REG_NONE;
}

bool hv_event_has_trigger(const struct hv_place *dir)
{
	const struct hv_event_type *type = hv_place_event_type(dir);

	return type && hv_event_type_has_triggers(type);
}

static bool system_name(const struct hv_place *dir, size_t index, struct hv_text *ret)
{
	const struct hv_catalogue *c = hv_place_catalogue(dir);

	if (index >= c->nr_systems)
		return false;
	hv_text_add(ret, c->systems[index].name);
	return true;
}

static bool find_system(struct hv_place *at, const char *name)
{
	const struct hv_catalogue *c = hv_place_catalogue(at);
	const struct hv_event_system *system = hv_catalogue_system(c, name);

	if (!system)
		return false;
	at->entry = (unsigned)(system - c->systems);
	return true;
}

static bool event_name(const struct hv_place *dir, size_t index, struct hv_text *ret)
{
	const struct hv_event_system *system = system_of(dir);

	if (!system || index >= system->nr)
		return false;
	hv_text_add(ret, hv_catalogue_at(hv_place_catalogue(dir), system, index)->name);
	return true;
}

static bool find_event(struct hv_place *at, const char *name)
{
	const struct hv_event_system *system = system_of(at);
	const struct hv_event_type *type =
		system ? hv_catalogue_find(hv_place_catalogue(at), system->name, name) : NULL;

	if (!type)
		return false;
	at->entry = type->id;
	return true;
}

const struct hv_entries hv_event_system_entries = {
	.shown_as = "SYSTEM",
	.name = system_name,
	.find = find_system,
};

const struct hv_entries hv_event_entries = {
	.shown_as = "EVENT",
	.name = event_name,
	.find = find_event,
};
