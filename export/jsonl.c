/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON lines: one object per event, in order of time (docs/users/files.md). */
#include <inttypes.h>
#include <stdio.h>

#include "export/export.h"
#include "export/json_string.h"
#include "export/page_decode.h"
#include "export/raw_pages.h"
#include "export/output.h"
#include "tracer/events/host_event.h"

#define SCHEMA_VERSION 1

struct jsonl {
	struct hv_export base;
	struct hv_output output;
	struct hv_page_decode decode;
	struct hv_page_merge merge;
};

static struct jsonl *jsonl_of(struct hv_export *x)
{
	return (struct jsonl *)x;
}

static void add_name(struct hv_text *out, const char *s)
{
	hv_json_add_string(out, s, strlen(s));
}

/* A function without a symbol is shown as its address. */
static void add_function(struct hv_text *out, const struct jsonl *j, struct hv_gva addr)
{
	const struct hv_symbol *symbol = hv_page_decode_symbol(&j->decode, addr);

	if (symbol && addr.v)
		add_name(out, symbol->name);
	else
		hv_text_printf(out, "\"0x%" PRIx64 "\"", addr.v);
}

static void add_member(struct hv_text *out, const struct jsonl *j, const char *key,
		       struct hv_gva addr)
{
	hv_text_printf(out, ",\"%s\":", key);
	add_function(out, j, addr);
}

static void add_stack(struct hv_text *out, const struct jsonl *j, const struct hv_event *e)
{
	hv_text_add(out, ",\"callers\":[");
	for (size_t i = 0; i < e->nr_callers; i++) {
		hv_text_add(out, i ? "," : "");
		add_function(out, j, e->callers[i]);
	}
	hv_text_add(out, "]");
}

static void add_exit(struct hv_text *out, const struct jsonl *j, const struct hv_event *e)
{
	add_member(out, j, "function", e->ip);
	hv_text_printf(out, ",\"depth\":%u,\"duration\":%" PRIu64, e->depth,
		       e->time_ns > e->call_ns ? e->time_ns - e->call_ns : 0);
	if (e->has_retval)
		hv_text_printf(out, ",\"retval\":\"0x%" PRIx64 "\"", e->retval);
	if (hv_page_decode_has_host(&j->decode))
		hv_text_printf(out, ",\"host_ns\":%" PRIu64, e->host_ns);
}

static void add_bytes(struct hv_text *out, const struct hv_event *e)
{
	hv_text_add(out, ",\"bytes\":\"");
	for (size_t i = 0; i < e->text_len; i++)
		hv_text_printf(out, "%02x", (unsigned char)e->text[i]);
	hv_text_add(out, "\"");
}

static void add_text(struct hv_text *out, const struct hv_event *e)
{
	size_t len = e->text_len;

	hv_text_add(out, ",\"text\":");
	hv_json_add_string(out, e->text, len && e->text[len - 1] == '\n' ? len - 1 : len);
}

/* JSON numbers have 53 bits. */
static void add_number(struct hv_text *out, const struct hv_entry_value *v)
{
	uint64_t size = v->is_signed && (int64_t)v->number < 0 ? -v->number : v->number;

	if (size >> 53)
		hv_text_printf(out, "\"0x%" PRIx64 "\"", v->number);
	else if (v->is_signed)
		hv_text_printf(out, "%" PRId64, (int64_t)v->number);
	else
		hv_text_printf(out, "%" PRIu64, v->number);
}

static void add_value(struct hv_text *out, const struct hv_entry_value *v)
{
	switch (v->kind) {
	case HV_ENTRY_NUMBER:
		add_number(out, v);
		return;
	case HV_ENTRY_POINTER:
		hv_text_printf(out, "\"0x%" PRIx64 "\"", v->number);
		return;
	case HV_ENTRY_STRING:
		hv_json_add_string(out, (const char *)v->bytes.data, v->bytes.len_bytes);
		return;
	case HV_ENTRY_BYTES:
		hv_text_add(out, "\"");
		for (size_t i = 0; i < v->bytes.len_bytes; i++)
			hv_text_printf(out, "%02x", v->bytes.data[i]);
		hv_text_add(out, "\"");
	}
}

static void add_fields(struct hv_text *out, const struct hv_event_type *type, struct hv_span entry)
{
	const char *between = "";

	hv_text_add(out, ",\"fields\":{");
	for (size_t i = 0; type && i < type->fields.nr; i++) {
		const struct hv_event_field *field = &type->fields.list[i];
		struct hv_entry_value value;

		if (!hv_entry_value(field, entry, &value))
			continue;
		hv_text_add(out, between);
		between = ",";
		add_name(out, field->name);
		hv_text_add(out, ":");
		add_value(out, &value);
	}
	hv_text_add(out, "}");
}

static void add_rest(struct hv_text *out, const struct jsonl *j, const struct hv_event *e)
{
	switch (e->kind) {
	case HV_EVENT_FUNCTION:
		add_member(out, j, "function", e->ip);
		add_member(out, j, "parent", e->parent_ip);
		return;
	case HV_EVENT_GRAPH_ENTRY:
		add_member(out, j, "function", e->ip);
		hv_text_printf(out, ",\"depth\":%u", e->depth);
		return;
	case HV_EVENT_GRAPH_EXIT:
		add_exit(out, j, e);
		return;
	case HV_EVENT_PRINT:
		add_text(out, e);
		return;
	case HV_EVENT_RAW_DATA:
		add_bytes(out, e);
		return;
	case HV_EVENT_STACK:
		add_stack(out, j, e);
		return;
	case HV_EVENT_GUESTS:
		add_fields(out, hv_catalogue_by_id(&j->decode.catalogue, e->id), e->entry);
		return;
	case HV_EVENT_COMMAND:
		return;
	}
}

static void add_lost(struct hv_text *out, const struct hv_merged *m)
{
	hv_text_printf(out, "{\"event\":\"lost\",\"cpu\":%u", m->cpu);
	if (m->lost)
		hv_text_printf(out, ",\"events\":%" PRIu64, m->lost);
	hv_text_add(out, "}\n");
}

static void add_event(struct jsonl *j, const struct hv_merged *m)
{
	const struct hv_event_type *type = hv_page_decode_type(&j->decode, m->event.payload);
	struct hv_text *out = &j->output.pending;
	struct hv_event e;

	if (m->has_lost)
		add_lost(out, m);
	if (!type || !hv_page_decode_event(&j->decode, m, &e))
		return;
	hv_text_add(out, "{\"event\":");
	add_name(out, type->name);
	hv_text_printf(out, ",\"time\":%" PRIu64 ",\"cpu\":%u,\"pid\":%" PRIu32, e.time_ns, e.cpu,
		       e.pid);
	hv_text_add(out, ",\"comm\":");
	add_name(out, e.comm);
	if (hv_host_event_is(type->id))
		hv_text_add(out, ",\"host\":true");
	add_rest(out, j, &e);
	hv_text_add(out, "}\n");
}

static struct hv_err *write_events(struct jsonl *j)
{
	struct hv_err *err = NULL;
	struct hv_merged m;

	while (!err && hv_page_merge_next(&j->merge, &m)) {
		add_event(j, &m);
		err = hv_output_mark(&j->output);
	}
	return err;
}

static void add_head(struct hv_text *out, const struct hv_export_head *head)
{
	hv_text_printf(out, "{\"event\":\"begin\",\"version\":%d,\"program\":", SCHEMA_VERSION);
	add_name(out, head->program);
	hv_text_add(out, ",\"kernel\":");
	add_name(out, head->kernel);
	hv_text_add(out, ",\"clock\":");
	add_name(out, head->clock);
	hv_text_printf(out, ",\"cpus\":%u", head->nr_cpus);
	if (head->has_date)
		hv_text_printf(out, ",\"epoch_ns\":%" PRIu64, head->clock_epoch_ns);
	hv_text_add(out, "}\n");
}

static void jsonl_free(struct hv_export *x)
{
	struct jsonl *j = jsonl_of(x);

	hv_output_deinit(&j->output);
	hv_page_decode_deinit(&j->decode);
	hv_page_merge_deinit(&j->merge);
	free(j);
}

static struct hv_err *jsonl_open(const struct hv_export_config *config,
				 const struct hv_export_head *head, struct hv_export **ret)
{
	struct jsonl *j = hv_alloc(sizeof(*j));
	struct hv_err *err;

	hv_output_init(&j->output, config);
	hv_page_decode_init(&j->decode, head);
	hv_page_merge_init(&j->merge, head->nr_cpus, head->page_bytes);
	add_head(&j->output.pending, head);
	err = hv_output_mark(&j->output);
	if (err) {
		jsonl_free(&j->base);
		return err;
	}
	*ret = &j->base;
	return NULL;
}

/* Events are written in the next turn, when the names of their tasks can be known. */
static struct hv_err *jsonl_add(struct hv_export *x, unsigned cpu, struct hv_span page)
{
	struct jsonl *j = jsonl_of(x);

	hv_page_merge_add(&j->merge, cpu, page);
	if (!x->wants_names)
		x->wants_names = hv_page_decode_lacks_names(&j->decode, page);
	return NULL;
}

static struct hv_err *jsonl_name_tasks(struct hv_export *x, struct hv_export_text names)
{
	hv_page_decode_name_tasks(&jsonl_of(x)->decode, names);
	return NULL;
}

static struct hv_err *jsonl_turn(struct hv_export *x)
{
	struct jsonl *j = jsonl_of(x);
	struct hv_err *err = write_events(j);

	hv_page_merge_turn(&j->merge);
	return err ? err : hv_output_flush(&j->output);
}

static struct hv_err *jsonl_end(struct hv_export *x)
{
	struct jsonl *j = jsonl_of(x);
	struct hv_err *err;

	hv_page_merge_end(&j->merge);
	err = j->output.error ? NULL : write_events(j);
	return err ? err : hv_output_end(&j->output);
}

const struct hv_export_format hv_export_jsonl = {
	.name = "jsonl",
	.suffix = ".jsonl",
	.other_suffix = ".json",
	.input = HV_EXPORT_PAGES,
	.has_date = 1,
	.open = jsonl_open,
	.add = jsonl_add,
	.name_tasks = jsonl_name_tasks,
	.turn = jsonl_turn,
	.end = jsonl_end,
	.free = jsonl_free,
};
