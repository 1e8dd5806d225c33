/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/dynamic/synths.h"

#include <stdlib.h>
#include <string.h>

#include "kernel/core/function_code.h"
#include "kernel/events/catalogue.h"
#include "kernel/kernel.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/instance.h"
#include "tree/instance/dynamic/eprobes.h"
#include "tree/instance/dynamic/host_made.h"
#include "tree/instance/hist/hist_table.h"

#define WORD	   8u
/* While a hist trigger runs, its event's record is reserved and the ring is nested: each of the two
 * disables preemption. */
#define DEEPER	   2
#define FIRST_CALL (UINT64_C(1) << 32) /* not a guest address, and distinct from probes */

struct hv_synths {
	struct hv_synth_event **list; /* owned, including the elements; oldest first */
	size_t nr;
	uint64_t nr_made; /* including removed ones */
	bool has_pads;	  /* the kernel's hist triggers use per-CPU memory */
};

struct hv_synth_event {
	struct hv_synth is;
	struct hv_event_type type; /* in the catalogue; its strings and fields are owned here */
	struct hv_text print_fmt;
	uint32_t fields_off; /* offset in an entry */
};

static struct hv_synths *state_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_SYNTHS);
}

static void free_event(struct hv_synth_event *e)
{
	hv_synth_deinit(&e->is);
	hv_text_deinit(&e->print_fmt);
	free(e->type.fields.list);
	free(e);
}

static void free_event_at(struct hv_synth_event **e)
{
	if (*e)
		free_event(*e);
}

/* Removes the event at INDEX. */
static void forget(struct hv_instances *all, size_t index)
{
	struct hv_synths *s = state_of(all);
	struct hv_synth_event *e = s->list[index];

	hv_event_types_remove(hv_instances_session(all)->types, e->type.id);
	s->nr--;
	memmove(s->list + index, s->list + index + 1,
		(s->nr - index) * sizeof(struct hv_synth_event *));
	free_event(e);
}

static void deinit_all(struct hv_instances *all)
{
	struct hv_synths *s = state_of(all);

	while (s->nr)
		forget(all, s->nr - 1);
	free(s->list);
}

/* -- definitions ------------------------------------------------------------------------------- */

static void make_fields(struct hv_synth_event *e, const struct hv_catalogue *c)
{
	e->fields_off = (c->header_len_bytes + WORD - 1) / WORD * WORD;
	e->type.fields.nr = e->is.nr_fields;
	e->type.fields.list = hv_alloc(e->is.nr_fields * sizeof(*e->type.fields.list));
	for (unsigned i = 0; i < e->is.nr_fields; i++) {
		const struct hv_synth_field *f = &e->is.fields[i];

		e->type.fields.list[i] = (struct hv_event_field){.name = f->name,
								 .type = f->type,
								 .off = e->fields_off + f->off,
								 .size_bytes = f->size_bytes,
								 .is_signed = f->is_signed};
	}
}

/* Returns the separator that the guest's kernel uses between fields in the text of print_fmt: a
 * comma and a blank, or only a blank (7.3). */
static const char *between_fields(const struct hv_kernel *k)
{
	static const char function[] = "__set_synth_event_print_fmt";

	return hv_function_refers_to(&k->core, function, " ") &&
			       !hv_function_refers_to(&k->core, function, ", ")
		       ? " "
		       : ", ";
}

static void make_type(struct hv_instances *all, struct hv_synth_event *e,
		      const struct hv_catalogue *c)
{
	hv_synth_print_fmt(&e->is, between_fields(hv_instances_session(all)->kernel),
			   &e->print_fmt);
	e->type = (struct hv_event_type){
		.system = HV_SYNTH_SYSTEM,
		.name = e->is.name,
		.print_fmt = e->print_fmt.data,
		.id = hv_host_made_free_id(c),
		.is_available = true,
		.has_fields = true,
		.reg_kind = HV_EVENT_REG_SYNTH,
		/* Unique even if an id is reused. */
		.call = hv_gva(FIRST_CALL + ++state_of(all)->nr_made),
	};
	make_fields(e, c);
}

static struct hv_err *check(const struct hv_instances *all, const struct hv_catalogue *c,
			    const struct hv_synth *synth)
{
	if (hv_catalogue_find(c, HV_SYNTH_SYSTEM, synth->name))
		return hv_err_new(EEXIST, "Event already exists");
	if (state_of(all)->nr == HV_SYNTHS_MAX)
		return hv_err_new(ENOSPC, "there are %d synthetic events already", HV_SYNTHS_MAX);
	return hv_host_made_check_id(c);
}

/* Returns the position that the kernel marks if NAME exists: its first occurrence. */
static size_t offset_of(const char *text, const char *name)
{
	const char *found = strstr(text, name);

	return found ? (size_t)(found - text) : 0;
}

struct hv_err *hv_synths_define(struct hv_instances *all, const char *text,
				struct hv_synth_fault *ret_fault)
{
	hv_cleanup(free_event_at) struct hv_synth_event *e = hv_alloc(sizeof(*e));
	struct hv_synths *s = state_of(all);
	struct hv_gva pads;
	const struct hv_catalogue *c;
	struct hv_err *err = hv_event_types_catalogue(hv_instances_session(all)->types, &c);

	*ret_fault = (struct hv_synth_fault){0};
	if (err)
		return err;
	if (!hv_synth_parse(text, &e->is, ret_fault))
		return hv_err_new(ret_fault->code, "%s at character %zu of '%s'", ret_fault->why,
				  ret_fault->at, text);
	err = check(all, c, &e->is);
	if (err && err->code == EEXIST)
		*ret_fault = (struct hv_synth_fault){EEXIST, "Event already exists",
						     offset_of(text, e->is.name)};
	if (err)
		return err;
	e->is.stack_depth = hv_hist_stack_depth(hv_instances_session(all)->kernel);
	make_type(all, e, c);
	s->has_pads = hv_kernel_symbol(hv_instances_session(all)->kernel, "hist_pads", &pads);
	s->list = hv_realloc_array(s->list, s->nr + 1, sizeof(struct hv_synth_event *));
	s->list[s->nr++] = e;
	hv_event_types_add(hv_instances_session(all)->types, &e->type);
	e = NULL;
	return NULL;
}

/* -- removing ---------------------------------------------------------------------------------- */

static bool is_used(const struct hv_instances *all, const struct hv_synth_event *e)
{
	const struct hv_event_ref ref = hv_event_ref_of(&e->type);

	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		if (hv_instance_needs_event(in, ref) || hv_eprobes_have(all, ref) ||
		    hv_instance_makes(in, &e->is))
			return true;
	}
	return false;
}

/* NAME NULL: all events. */
static struct hv_err *remove_named(struct hv_instances *all, const char *name)
{
	struct hv_synths *s = state_of(all);
	size_t nr = 0;

	for (size_t i = 0; i < s->nr; i++) {
		if (name && strcmp(s->list[i]->is.name, name) != 0)
			continue;
		if (is_used(all, s->list[i]))
			return hv_err_new(EBUSY, "the synthetic event %s is in use",
					  s->list[i]->is.name);
		nr++;
	}
	if (name && !nr)
		return hv_err_new(ENOENT, "there is no synthetic event '%s'", name);
	for (size_t i = s->nr; i-- > 0;) {
		if (name && strcmp(s->list[i]->is.name, name) != 0)
			continue;
		hv_host_made_remove(all, &s->list[i]->type);
		forget(all, i);
	}
	return NULL;
}

struct hv_err *hv_synths_remove(struct hv_instances *all, const char *name)
{
	return remove_named(all, name);
}

struct hv_err *hv_synths_clear(struct hv_instances *all)
{
	return remove_named(all, NULL);
}

void hv_synths_text(const struct hv_instances *all, enum hv_synths_file file, struct hv_text *ret)
{
	const struct hv_synths *synths = state_of(all);

	for (size_t i = 0; i < synths->nr; i++) {
		if (file == HV_SYNTHS_DYNAMIC_EVENTS)
			hv_text_add(ret, "s:" HV_SYNTH_SYSTEM "/");
		hv_synth_text(&synths->list[i]->is, ret);
	}
}

/* -- events ------------------------------------------------------------------------------------ */

bool hv_synths_is(const struct hv_event_type *type)
{
	return type->reg_kind == HV_EVENT_REG_SYNTH;
}

static bool makes_any(const struct hv_instances *all, const struct hv_event_set *set)
{
	const struct hv_synths *s = state_of(all);

	for (size_t i = 0; i < s->nr; i++)
		if (hv_event_set_has_id(set, s->list[i]->type.id))
			return true;
	return false;
}

const struct hv_synth *hv_synths_find(const struct hv_instances *all, const char *name)
{
	const struct hv_synths *s = state_of(all);

	for (size_t i = 0; i < s->nr; i++)
		if (strcmp(s->list[i]->is.name, name) == 0)
			return &s->list[i]->is;
	return NULL;
}

/* Returns `deeper` of a synthetic event made from EVENT. For an event that the guest recorded, it
 * counts from the callback, where the preempt count is already one higher than in the record.
 * Kernels with per-CPU memory for hist trigger values disable preemption once more for it
 * (get_hist_pad). */
static uint8_t deeper_than(const struct hv_instances *all, const struct hv_event *event)
{
	unsigned more = DEEPER + state_of(all)->has_pads;
	bool is_inside = !event->deeper && event->kind == HV_EVENT_GUESTS;
	unsigned deeper = is_inside ? more - 1 : event->deeper + more;

	return deeper < HV_EVENT_DEEPER_MAX ? (uint8_t)deeper : HV_EVENT_DEEPER_MAX;
}

bool hv_synths_event(const struct hv_instances *all, const struct hv_synth *synth,
		     const struct hv_hist_value *values, const struct hv_event *event,
		     struct hv_event *ret, uint8_t *entry)
{
	const struct hv_synths *s = state_of(all);
	const struct hv_synth_event *e = NULL;
	uint16_t id;
	uint32_t len;

	for (size_t i = 0; i < s->nr; i++)
		if (&s->list[i]->is == synth)
			e = s->list[i];
	if (!e || event->entry.len_bytes < HV_ENTRY_HEADER_LEN)
		return false;
	id = (uint16_t)e->type.id;
	memset(entry, 0, e->fields_off);
	memcpy(entry, event->entry.data, HV_ENTRY_HEADER_LEN);
	memcpy(entry, &id, sizeof(id));
	len = hv_synth_fill(synth, values, e->fields_off, entry, HV_ENTRY_LEN_MAX);
	*ret = *event;
	ret->kind = HV_EVENT_GUESTS;
	ret->id = id;
	ret->lost_before = 0;
	ret->deeper = deeper_than(all, event);
	ret->is_as_deep = 0;
	ret->entry = (struct hv_span){entry, len};
	return len != 0;
}

const struct hv_part hv_synths_part = {
	.all_bytes = sizeof(struct hv_synths),
	.deinit_all = deinit_all,
	.makes_any = makes_any,
};
