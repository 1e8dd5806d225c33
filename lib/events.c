/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ops of events: the types of the enabled events, and the values of their fields. Formats and
 * entries come from the service and can contain anything (export/field_values.h). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/bisect.h"
#include "export/field_values.h"
#include "lib/alloc.h"
#include "lib/ops.h"

#define TYPES_MAX  8192
#define FIELDS_MAX 256	       /* of an event */
#define TEXTS_MAX  (64u << 20) /* of all formats */

struct hvt_field {
	struct hv_event_field of; /* its strings are owned */
	enum hvt_field_kind kind;
	unsigned element_bytes;
};

struct hvt_event_type {
	char *system, *name; /* owned */
	struct record_format format;
	struct hvt_field *fields; /* owned */
	size_t nr_fields;
};

struct event_types {
	struct hvt_event_type **list; /* owned, by id */
	size_t nr;
	size_t texts_bytes; /* of the formats that were read */
};

static void free_type(struct hvt_event_type *type)
{
	for (size_t i = 0; i < type->nr_fields; i++) {
		free((char *)type->fields[i].of.name);
		free((char *)type->fields[i].of.type);
	}
	free(type->fields);
	free(type->system);
	free(type->name);
	free(type);
}

static void free_types(struct hvt_ops *ops)
{
	for (size_t i = 0; ops->types && i < ops->types->nr; i++)
		free_type(ops->types->list[i]);
	if (ops->types)
		free(ops->types->list);
	free(ops->types);
	ops->types = NULL;
}

/* -- formats ---------------------------------------------------------------------------------- */

static enum hvt_field_kind kind_of(const struct hv_event_field *field)
{
	switch (hv_entry_kind(field)) {
	case HV_ENTRY_NUMBER:
	case HV_ENTRY_POINTER:
		return HVT_FIELD_NUMBER;
	case HV_ENTRY_STRING:
		return HVT_FIELD_STRING;
	case HV_ENTRY_BYTES:
		break;
	}
	return HVT_FIELD_ARRAY;
}

/* Adds the field of LINE, if it is one. Returns false if there is no memory. */
static bool add_field(struct hvt_event_type *type, const char *line)
{
	struct hvt_field *field = &type->fields[type->nr_fields];
	struct hv_field_line parsed;
	char *of_type;

	if (!hv_field_line_parse(line, &parsed))
		return true;
	of_type = lib_alloc(parsed.type.len + parsed.array.len + 1);
	*field = (struct hvt_field){.of = {
					    .name = lib_strndup(parsed.name.text, parsed.name.len),
					    .type = of_type,
					    .off = parsed.off,
					    .size_bytes = parsed.size_bytes,
					    .is_signed = parsed.is_signed,
				    }};
	type->nr_fields++;
	if (!of_type || !field->of.name)
		return false;
	memcpy(of_type, parsed.type.text, parsed.type.len);
	memcpy(of_type + parsed.type.len, parsed.array.text, parsed.array.len);
	field->kind = kind_of(&field->of);
	field->element_bytes = field->kind == HVT_FIELD_NUMBER ? field->of.size_bytes
			       : field->kind == HVT_FIELD_STRING
				       ? 1
				       : hv_entry_element_bytes(&field->of);
	return true;
}

static size_t count_fields(const char *text)
{
	char line[FORMAT_LINE_MAX];
	struct hv_field_line parsed;
	size_t nr = 0;

	while (format_next_line(&text, line))
		nr += hv_field_line_parse(line, &parsed);
	return nr < FIELDS_MAX ? nr : FIELDS_MAX;
}

static bool add_fields(struct hvt_event_type *type, const char *text)
{
	size_t max = count_fields(text);
	char line[FORMAT_LINE_MAX];

	type->fields = lib_alloc(max * sizeof(*type->fields));
	if (!type->fields)
		return false;
	while (type->nr_fields < max && format_next_line(&text, line))
		if (!add_field(type, line))
			return false;
	return true;
}

/* NAME: "SYSTEM:EVENT", of LEN bytes. The type is complete or is not added. */
static struct hvt_error *read_type(struct hvt_ops *ops, const char *name, size_t len)
{
	struct event_types *types = ops->types;
	const char *colon = memchr(name, ':', len);
	size_t system_len = colon ? (size_t)(colon - name) : len;
	HV_AUTO_FREE char *text = NULL;
	char in[WIRE_PATH_MAX], path[WIRE_PATH_MAX];
	struct hvt_event_type *type;
	struct hvt_error *error;
	size_t text_bytes;

	snprintf(in, sizeof(in), "events/%.*s/%.*s/format", (int)system_len, name,
		 colon ? (int)(len - system_len - 1) : 0, name + system_len + 1);
	error = conn_path(ops->path, in, path);
	if (!error)
		error = conn_read_lines(ops->conn, WIRE_OPEN, path, &text, &text_bytes);
	if (error)
		return error;
	types->texts_bytes += text_bytes;
	if (types->texts_bytes > TEXTS_MAX)
		return error_new(EFBIG, "%s: the formats have more than %u MiB", path,
				 TEXTS_MAX >> 20);
	type = lib_alloc(sizeof(*type));
	if (!type)
		return error_no_memory();
	types->list[types->nr++] = type;
	type->system = lib_strndup(name, system_len);
	type->name = lib_strndup(colon ? colon + 1 : "", colon ? len - system_len - 1 : 0);
	if (!type->system || !type->name || !add_fields(type, text))
		return error_no_memory();
	if (!format_record(text, NULL, &type->format))
		return error_new(EPROTO, "%s: lacks a field of the event", path);
	return NULL;
}

static int compare_types(const void *a, const void *b)
{
	const struct hvt_event_type *const *x = a, *const *y = b;

	return (int)(*x)->format.id - (int)(*y)->format.id;
}

/* Reads the formats of the events in NAMES, the contents of set_event. */
static struct hvt_error *read_types(struct hvt_ops *ops, const char *names)
{
	struct event_types *types = ops->types;
	struct hvt_error *error = NULL;

	while (*names && !error) {
		size_t len = strcspn(names, "\n");

		if (len)
			error = read_type(ops, names, len);
		names += len + (names[len] == '\n');
	}
	qsort(types->list, types->nr, sizeof(*types->list), compare_types);
	return error;
}

static struct hvt_error *make_types(struct hvt_ops *ops, const char *names)
{
	size_t nr = 1;

	for (const char *at = names; *at; at++)
		nr += *at == '\n';
	if (nr > TYPES_MAX)
		return error_new(E2BIG, "more than %u events", TYPES_MAX);
	ops->types = lib_alloc(sizeof(*ops->types));
	if (ops->types)
		ops->types->list = lib_alloc(nr * sizeof(*ops->types->list));
	if (!ops->types || !ops->types->list)
		return error_no_memory();
	return read_types(ops, names);
}

/* Reads back what was enabled, because ops->events can have patterns. */
static struct hvt_error *enable_events(struct hvt_ops *ops)
{
	HV_AUTO_FREE char *names = NULL;
	char path[WIRE_PATH_MAX];
	struct hvt_error *error = conn_write_in(ops->conn, ops->path, "set_event", ops->events);
	size_t bytes;

	if (!error)
		error = conn_path(ops->path, "set_event", path);
	if (!error)
		error = conn_read_lines(ops->conn, WIRE_OPEN, path, &names, &bytes);
	if (error)
		return error;
	return make_types(ops, names);
}

/* -- events ----------------------------------------------------------------------------------- */

static const struct hvt_event_type *find_type(const struct event_types *types, uint16_t id)
{
	size_t at = HV_BISECT(i, types->nr, types->list[i]->format.id < id);

	return at < types->nr && types->list[at]->format.id == id ? types->list[at] : NULL;
}

static bool decode_event(const struct hvt_ops *ops, const struct lane_event *e,
			 union ops_record *ret)
{
	uint64_t numbers[RECORD_NUMBERS_MAX];
	const struct hvt_event_type *type;
	struct record_context context;
	uint16_t id;

	if (!hv_span_u16(e->payload, 0, &id))
		return false;
	type = find_type(ops->types, id);
	if (!type || !format_decode(&type->format, e->payload, &context, numbers))
		return false;
	ret->event = (struct hvt_event){
		.type = type,
		.entry = e->payload.data,
		.entry_bytes = e->payload.len_bytes,
		.time_ns = e->time_ns,
		.cpu = e->cpu,
		.pid = context.pid,
		.flags = context.flags,
		.preempt_depth = context.preempt_depth,
		.migrate_depth = context.migrate_depth,
	};
	return true;
}

static void call_event(const struct hvt_ops *ops, const union ops_record *record)
{
	ops->event(&record->event, ops->data);
}

const struct ops_kind ops_of_events = {
	.stack_option = "options/stacktrace",
	.prepare = enable_events,
	.release = free_types,
	.decode = decode_event,
	.call = call_event,
};

/* -- types and fields ------------------------------------------------------------------------- */

const char *hvt_event_type_system(const struct hvt_event_type *type)
{
	return type ? type->system : NULL;
}

const char *hvt_event_type_name(const struct hvt_event_type *type)
{
	return type ? type->name : NULL;
}

const struct hvt_field *hvt_event_type_field(const struct hvt_event_type *type, size_t index)
{
	return type && index < type->nr_fields ? &type->fields[index] : NULL;
}

const struct hvt_field *hvt_event_type_find(const struct hvt_event_type *type, const char *name)
{
	for (size_t i = 0; type && name && i < type->nr_fields; i++)
		if (strcmp(type->fields[i].of.name, name) == 0)
			return &type->fields[i];
	return NULL;
}

const char *hvt_field_name(const struct hvt_field *field)
{
	return field ? field->of.name : NULL;
}

const char *hvt_field_type(const struct hvt_field *field)
{
	return field ? field->of.type : NULL;
}

enum hvt_field_kind hvt_field_kind(const struct hvt_field *field)
{
	return field ? field->kind : HVT_FIELD_ARRAY;
}

int hvt_field_is_signed(const struct hvt_field *field)
{
	return field && field->of.is_signed;
}

size_t hvt_field_element_bytes(const struct hvt_field *field)
{
	return field ? field->element_bytes : 0;
}

static bool find_value(const struct hvt_event *event, const struct hvt_field *field,
		       struct hv_entry_value *ret)
{
	return event && field &&
	       hv_entry_value(&field->of, (struct hv_span){event->entry, event->entry_bytes}, ret);
}

int hvt_event_number(const struct hvt_event *event, const struct hvt_field *field, uint64_t *ret)
{
	struct hv_entry_value value;

	if (!ret || !field || field->kind != HVT_FIELD_NUMBER || !find_value(event, field, &value))
		return 0;
	*ret = value.number;
	return 1;
}

const void *hvt_event_bytes(const struct hvt_event *event, const struct hvt_field *field,
			    size_t *ret_bytes)
{
	struct hv_entry_value value;

	if (!ret_bytes || !field || field->kind == HVT_FIELD_NUMBER ||
	    !find_value(event, field, &value))
		return NULL;
	*ret_bytes = value.bytes.len_bytes / field->element_bytes * field->element_bytes;
	return value.bytes.data;
}

ssize_t hvt_event_string(const struct hvt_event *event, const struct hvt_field *field, char *ret,
			 size_t ret_bytes)
{
	const void *bytes;
	size_t len, kept;

	if (!ret || !ret_bytes || hvt_field_kind(field) != HVT_FIELD_STRING)
		return -1;
	bytes = hvt_event_bytes(event, field, &len);
	if (!bytes)
		return -1;
	kept = len < ret_bytes ? len : ret_bytes - 1;
	memcpy(ret, bytes, kept);
	ret[kept] = '\0';
	return (ssize_t)len;
}

int hvt_event_element(const struct hvt_event *event, const struct hvt_field *field, size_t index,
		      uint64_t *ret)
{
	size_t len;
	const uint8_t *bytes = hvt_event_bytes(event, field, &len);
	unsigned unused_bits;
	uint64_t bits = 0;

	if (!ret || !bytes || field->kind != HVT_FIELD_ARRAY || index >= len / field->element_bytes)
		return 0;
	memcpy(&bits, bytes + index * field->element_bytes, field->element_bytes);
	unused_bits = 64 - 8 * field->element_bytes;
	*ret = field->of.is_signed ? (uint64_t)((int64_t)(bits << unused_bits) >> unused_bits)
				   : bits;
	return 1;
}
