/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Like f_show() in kernel/trace/trace_events.c. */
#include "tree/format/event_format.h"

#include <inttypes.h>
#include <string.h>

#include "base/prefix.h"

#define DYNAMIC "__data_loc"

static void add_guest(struct hv_text *out, const char *s)
{
	hv_text_add_guest(out, s, SIZE_MAX);
}

/* An array type is shown around the name, as in a C declaration, except for dynamic arrays. */
static void add_field(struct hv_text *out, const struct hv_event_field *field, bool has_lens)
{
	const char *array = strchr(field->type, '[');

	if (hv_starts_with(field->type, DYNAMIC))
		array = NULL;
	hv_text_add(out, "\tfield:");
	hv_text_add_guest(out, field->type, array ? (size_t)(array - field->type) : SIZE_MAX);
	hv_text_add(out, " ");
	add_guest(out, field->name);
	if (array && !has_lens)
		add_guest(out, array);
	else if (array && field->len)
		hv_text_printf(out, "[%" PRId32 "]", field->len);
	else if (array)
		hv_text_add(out, "[]");
	hv_text_printf(out, ";\toffset:%" PRIu32 ";\tsize:%" PRIu32 ";\tsigned:%d;\n", field->off,
		       field->size_bytes, field->is_signed);
}

static void add_fields(struct hv_text *out, const struct hv_event_fields *fields, bool has_lens)
{
	for (size_t i = 0; i < fields->nr; i++)
		add_field(out, &fields->list[i], has_lens);
}

/* Adds text that spans several lines for some events. */
static void add_print_fmt(struct hv_text *out, const char *s)
{
	while (*s) {
		size_t len = strcspn(s, "\t\n");

		hv_text_add_guest(out, s, len);
		s += len;
		if (*s)
			hv_text_add_bytes(out, s++, 1);
	}
}

void hv_event_format_add(struct hv_text *out, const struct hv_catalogue *c,
			 const struct hv_event_type *type, const struct hv_event_field *more)
{
	hv_text_printf(out, "name: %s\nID: %" PRIu32 "\nformat:\n", type->name, type->id);
	add_fields(out, &c->common, c->has_lens);
	hv_text_add(out, "\n");
	add_fields(out, &type->fields, c->has_lens);
	if (more)
		add_field(out, more, c->has_lens);
	hv_text_add(out, "\nprint fmt: ");
	add_print_fmt(out, type->print_fmt);
	hv_text_add(out, "\n");
}
