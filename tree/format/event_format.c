/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Like f_show() in kernel/trace/trace_events.c. */
#include "tree/format/event_format.h"

#include <inttypes.h>
#include <string.h>

#include "base/prefix.h"
#include "kernel/events/catalogue.h"

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

/* Some print_fmts span several lines, so newlines and tabs are kept. */
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
			 const struct hv_event_type *type, const struct hv_event_field *more,
			 size_t nr_more)
{
	hv_text_printf(out, "name: %s\nID: %" PRIu32 "\nformat:\n", type->name, type->id);
	add_fields(out, &c->common, c->has_lens);
	hv_text_add(out, "\n");
	add_fields(out, &type->fields, c->has_lens);
	for (size_t i = 0; i < nr_more; i++)
		add_field(out, &more[i], c->has_lens);
	hv_text_add(out, "\nprint fmt: ");
	add_print_fmt(out, type->print_fmt);
	hv_text_add(out, "\n");
}

/* -- types of tracers -------------------------------------------------------------------------- */

/* Types as in kernel/trace/trace_entries.h. */

#define SYSTEM "ftrace"

static struct hv_event_field common[] = {
	{"common_type", "unsigned short", .off = 0, .size_bytes = 2},
	{"common_flags", "unsigned char", .off = 2, .size_bytes = 1},
	{"common_preempt_count", "unsigned char", .off = 3, .size_bytes = 1},
	{"common_pid", "int", .off = 4, .size_bytes = 4, .is_signed = true},
};

static struct hv_event_field graph_entry[] = {
	{"func", "unsigned long", .off = 8, .size_bytes = 8},
	{"depth", "int", .off = 16, .size_bytes = 4, .is_signed = true},
};

static struct hv_event_field graph_exit[] = {
	{"func", "unsigned long", .off = 8, .size_bytes = 8},
	{"depth", "int", .off = 16, .size_bytes = 4, .is_signed = true},
	{"overrun", "unsigned int", .off = 20, .size_bytes = 4},
	{"calltime", "unsigned long long", .off = 24, .size_bytes = 8},
	{"rettime", "unsigned long long", .off = 32, .size_bytes = 8},
};

static struct hv_event_field function[] = {
	{"ip", "unsigned long", .off = 8, .size_bytes = 8},
	{"parent_ip", "unsigned long", .off = 16, .size_bytes = 8},
};

static struct hv_event_field kernel_stack[] = {
	{"size", "int", .off = 8, .size_bytes = 4, .is_signed = true},
	{"caller", "unsigned long[8]", .off = 16, .size_bytes = 64, .len = 8},
};

static struct hv_event_field print[] = {
	{"ip", "unsigned long", .off = 8, .size_bytes = 8},
	{"buf", "char[]", .off = 16},
};

static struct hv_event_field raw_data[] = {
	{"id", "unsigned int", .off = 8, .size_bytes = 4},
	{"buf", "char[]", .off = 12},
};

#define TYPE(name_, id_, fields_, print_fmt_)                                                      \
	{                                                                                          \
		.system = SYSTEM, .name = name_, .id = id_, .print_fmt = print_fmt_,               \
		.has_fields = true, .fields = {fields_, HV_ARRAY_LEN(fields_)},                    \
	}

static struct hv_event_type types[] = {
	TYPE("funcgraph_entry", 11, graph_entry, "\"--> %ps (%d)\", (void *)REC->func, REC->depth"),
	TYPE("funcgraph_exit", 10, graph_exit,
	     "\"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, REC->depth, "
	     "REC->calltime, REC->rettime, REC->depth"),
	TYPE("function", 1, function, "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip"),
	TYPE("kernel_stack", 4, kernel_stack,
	     "\"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" "
	     "\"\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], (void *)REC->caller[1], "
	     "(void *)REC->caller[2], (void *)REC->caller[3], (void *)REC->caller[4], "
	     "(void *)REC->caller[5], (void *)REC->caller[6], (void *)REC->caller[7]"),
	TYPE("print", 5, print, "\"%ps: %s\", (void *)REC->ip, REC->buf"),
	TYPE("raw_data", 18, raw_data, "\"id:%04x %08x\", REC->id, (int)REC->buf[0]"),
};

static struct hv_event_system systems[] = {{SYSTEM, 0, HV_ARRAY_LEN(types)}};
static uint32_t by_name[] = {0, 1, 2, 3, 4, 5};
static uint32_t by_id[] = {2, 3, 4, 1, 0, 5};

static const struct hv_catalogue catalogue = {
	.types = types,
	.nr = HV_ARRAY_LEN(types),
	.common = {common, HV_ARRAY_LEN(common)},
	.header_len_bytes = 8,
	.has_lens = true,
	.systems = systems,
	.nr_systems = HV_ARRAY_LEN(systems),
	.by_name = by_name,
	.by_id = by_id,
};

_Static_assert(HV_ARRAY_LEN(by_name) == HV_ARRAY_LEN(types), "by_name");
_Static_assert(HV_ARRAY_LEN(by_id) == HV_ARRAY_LEN(types), "by_id");

const struct hv_catalogue *hv_tracer_types(void)
{
	return &catalogue;
}
