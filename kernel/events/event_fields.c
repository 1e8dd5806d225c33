/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the fields of an event. The kernel's event_define_fields() (kernel/trace/trace_events.c)
 * creates them from the templates of the event's class. Its trace_define_field() prepends each
 * field to the class's list. */
#include <string.h>

#include "base/grow.h"
#include "kernel/events/reader.h"
#include "kernel/core/fields.h"

/* The type of a template with a function instead of a field: the function creates the fields
 * (TRACE_FUNCTION_TYPE). */
#define FUNCTION_TYPE UINT64_MAX

#define ALIGN_MAX 4096u

/* A list of fields under construction; it is reallocated as it grows. */
struct building {
	struct hv_event_field *list; /* owned */
	size_t nr, cap;
};

static void free_building_at(struct building *b)
{
	free(b->list);
}

static bool fits_record(const struct hv_event_field *field)
{
	return field->off <= HV_EVENT_RECORD_MAX &&
	       field->size_bytes <= HV_EVENT_RECORD_MAX - field->off;
}

static struct hv_err *add(struct hv_event_reader *r, struct building *b,
			  const struct hv_event_field *field)
{
	if (b->nr == HV_EVENT_FIELDS_MAX || r->nr_fields == HV_ALL_FIELDS_MAX)
		return hv_err_new(E2BIG, "no end after %zu fields, %zu in all", b->nr,
				  r->nr_fields);
	r->nr_fields++;
	if (!fits_record(field))
		return NULL;
	b->list = hv_grow(b->list, b->nr, &b->cap, 16, sizeof(*b->list));
	b->list[b->nr++] = *field;
	return NULL;
}

static struct hv_event_fields keep(struct hv_event_reader *r, const struct building *b)
{
	struct hv_event_fields kept = {.nr = b->nr};

	kept.list = hv_store_alloc(&r->c->store, b->nr * sizeof(*kept.list));
	if (b->nr)
		memcpy(kept.list, b->list, b->nr * sizeof(*kept.list));
	return kept;
}

static struct hv_err *read_names(struct hv_event_reader *r, uint64_t name, uint64_t type,
				 struct hv_event_field *ret)
{
	struct hv_err *err =
		hv_strings_read(&r->strings, hv_gva(name), HV_EVENT_WORD_MAX, &ret->name);

	return err ? err
		   : hv_strings_read(&r->strings, hv_gva(type), HV_EVENT_WORD_MAX, &ret->type);
}

/* Adds the field whose struct ftrace_event_field is in FIELD. */
static struct hv_err *add_listed(struct hv_event_reader *r, struct hv_span field,
				 struct building *b)
{
	const struct hv_event_layout *l = &r->layout;
	struct hv_event_field f = {
		.off = hv_copy_u32(field, l->field.off),
		.size_bytes = hv_copy_u32(field, l->field.size),
		.len = l->has_lens ? (int32_t)hv_copy_u32(field, l->field.len) : 0,
		.filter_type = hv_copy_u32(field, l->field.filter_type),
		.is_signed = hv_copy_bits(field, l->field.is_signed) != 0,
	};
	struct hv_err *err = read_names(r, hv_copy_u64(field, l->field.name),
					hv_copy_u64(field, l->field.type), &f);

	return err ? err : add(r, b, &f);
}

/* Adds the fields of LIST, from the last to the first. */
static struct hv_err *walk(struct hv_event_reader *r, struct hv_gva list, struct building *b)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span field = {bytes, l->field.len_bytes};
	struct hv_circle circle = {0};
	uint64_t at;
	struct hv_err *err = hv_pages_u64(&r->pages, hv_gva_add(list, l->list_prev), &at);

	for (; !err && at != list.v; at = hv_copy_u64(field, l->field.prev)) {
		if (hv_circle_step(&circle, at))
			return hv_err_new(EINVAL, "fields: the list goes round at 0x%llx",
					  (unsigned long long)at);
		err = hv_pages_read(&r->pages, hv_gva(at - (l->field.prev - l->list_prev)), bytes,
				    field.len_bytes);
		if (!err)
			err = add_listed(r, field, b);
	}
	return err;
}

/* Adds the field of a template, at the offset that event_define_fields() would assign. */
static struct hv_err *add_template(struct hv_event_reader *r, struct hv_span template,
				   uint32_t *off, struct building *b)
{
	const struct hv_event_layout *l = &r->layout;
	uint32_t align = hv_copy_u32(template, l->template.align);
	struct hv_event_field f = {
		.size_bytes = hv_copy_u32(template, l->template.size),
		.len = l->has_lens ? (int32_t)hv_copy_u32(template, l->template.len) : 0,
		.filter_type = hv_copy_u32(template, l->template.filter_type),
		.is_signed = hv_copy_bits(template, l->template.is_signed) != 0,
	};
	struct hv_err *err;

	if (!align || align > ALIGN_MAX || align & (align - 1) || f.size_bytes > UINT16_MAX ||
	    *off > UINT16_MAX)
		return hv_err_new(EINVAL, "a field of %u bytes, aligned to %u, after %u bytes",
				  f.size_bytes, align, *off);
	f.off = (*off + align - 1) & -align;
	*off = f.off + f.size_bytes;
	err = read_names(r, hv_copy_u64(template, l->template.name),
			 hv_copy_u64(template, l->template.type), &f);
	return err ? err : add(r, b, &f);
}

static struct hv_err *walk_templates(struct hv_event_reader *r, struct hv_gva at,
				     struct building *b, bool *ret_known)
{
	const struct hv_event_layout *l = &r->layout;
	uint8_t bytes[HV_EVENT_STRUCT_MAX];
	struct hv_span template = {bytes, l->template.len_bytes};
	uint32_t off = l->header_len_bytes;
	struct hv_err *err;

	for (;; at.v += template.len_bytes) {
		uint64_t type;

		err = hv_pages_read(&r->pages, at, bytes, template.len_bytes);
		type = hv_copy_u64(template, l->template.type);
		if (err || !type)
			return err;
		*ret_known = type != FUNCTION_TYPE;
		if (!*ret_known)
			return NULL;
		err = add_template(r, template, &off, b);
		if (err)
			return err;
	}
}

struct hv_err *hv_event_fields_read(struct hv_event_reader *r, struct hv_gva list,
				    struct hv_gva templates, struct hv_event_fields *ret,
				    bool *ret_known)
{
	hv_cleanup(free_building_at) struct building b = {0};
	struct hv_event_fields *known = hv_gva_map_find(&r->field_lists, list);
	bool is_known = true;
	struct hv_err *err;

	if (known) {
		*ret = *known;
		*ret_known = true;
		return NULL;
	}
	err = walk(r, list, &b);
	if (!err && !b.nr && templates.v)
		err = walk_templates(r, templates, &b, &is_known);
	if (err)
		return err;
	*ret_known = is_known;
	if (!is_known)
		return NULL;
	known = hv_store_alloc(&r->c->store, sizeof(*known));
	*known = keep(r, &b);
	hv_gva_map_add(&r->field_lists, list, known);
	*ret = *known;
	return NULL;
}
