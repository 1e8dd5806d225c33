/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/ctf_classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tracer/events/host_event.h"

#define NR_IDS	      65536
#define NAME_MAX_LEN  128
#define STRING_BYTES  4096	       /* maximum length of a string */
#define NR_KINDS      HV_EVENT_COMMAND /* of tracer events */
#define CONTEXT_BYTES 4

void hv_ctf_add_number(struct hv_text *out, uint64_t value, unsigned len_bytes)
{
	hv_text_add_bytes(out, &value, len_bytes);
}

static void add_string(struct hv_text *out, const char *s, size_t max_bytes)
{
	hv_text_add_utf8(out, s, max_bytes);
	hv_text_add_char(out, '\0');
}

void hv_ctf_add_quoted(struct hv_text *out, const char *text)
{
	HV_AUTO_TEXT struct hv_text safe = {0};

	hv_text_add_utf8(&safe, text, STRING_BYTES);
	hv_text_add(&safe, "");
	hv_text_add_char(out, '"');
	for (const char *c = safe.data; *c; c++) {
		if (*c == '"' || *c == '\\')
			hv_text_add_char(out, '\\');
		hv_text_add_char(out, *c);
	}
	hv_text_add_char(out, '"');
}

/* Events of tracers. Keep the declarations consistent with the code that writes the events. */

static void add_function(const struct hv_ctf_classes *c, struct hv_text *out, struct hv_gva addr)
{
	const struct hv_symbol *symbol = hv_page_decode_symbol(c->decode, addr);
	char hex[24];

	if (symbol && addr.v) {
		add_string(out, symbol->name, HV_SYMBOL_NAME_MAX);
		return;
	}
	snprintf(hex, sizeof(hex), "0x%" PRIx64, addr.v);
	add_string(out, hex, sizeof(hex));
}

#define CALL_FIELDS "x64 _ip; string _function; "
#define EXIT_FIELDS CALL_FIELDS "u32 _depth; u64 _calltime; u64 _duration; u32 _overrun; "

static const char *const tracer_names[NR_KINDS] = {
	[HV_EVENT_FUNCTION] = "function",	  [HV_EVENT_GRAPH_ENTRY] = "funcgraph_entry",
	[HV_EVENT_GRAPH_EXIT] = "funcgraph_exit", [HV_EVENT_PRINT] = "print",
	[HV_EVENT_RAW_DATA] = "raw_data",	  [HV_EVENT_STACK] = "kernel_stack",
};

static const char *const tracer_fields[NR_KINDS] = {
	[HV_EVENT_FUNCTION] = CALL_FIELDS "x64 _parent_ip; string _parent; ",
	[HV_EVENT_GRAPH_ENTRY] = CALL_FIELDS "u32 _depth; ",
	[HV_EVENT_GRAPH_EXIT] = EXIT_FIELDS,
	[HV_EVENT_PRINT] = "x64 _ip; string _text; ",
	[HV_EVENT_RAW_DATA] = "u32 _bytes_length; x8 _bytes[_bytes_length]; ",
	[HV_EVENT_STACK] = ("u32 _ips_length; x64 _ips[_ips_length]; "
			    "u32 _callers_length; string _callers[_callers_length]; "),
};

static bool has_retval(const struct hv_ctf_classes *c)
{
	return c->decode->layout.records[HV_EVENT_GRAPH_EXIT].fields[HV_RAW_RETVAL].len_bytes != 0;
}

static void add_call(const struct hv_ctf_classes *c, const struct hv_event *e, struct hv_text *out)
{
	hv_ctf_add_number(out, e->ip.v, 8);
	add_function(c, out, e->ip);
}

static void add_exit(const struct hv_ctf_classes *c, const struct hv_event *e, struct hv_text *out)
{
	add_call(c, e, out);
	hv_ctf_add_number(out, e->depth, 4);
	hv_ctf_add_number(out, e->call_ns, 8);
	hv_ctf_add_number(out, e->time_ns > e->call_ns ? e->time_ns - e->call_ns : 0, 8);
	hv_ctf_add_number(out, e->overrun, 4);
	if (has_retval(c))
		hv_ctf_add_number(out, e->retval, 8);
}

static void add_stack(const struct hv_ctf_classes *c, const struct hv_event *e, struct hv_text *out)
{
	hv_ctf_add_number(out, e->nr_callers, 4);
	for (size_t i = 0; i < e->nr_callers; i++)
		hv_ctf_add_number(out, e->callers[i].v, 8);
	hv_ctf_add_number(out, e->nr_callers, 4);
	for (size_t i = 0; i < e->nr_callers; i++)
		add_function(c, out, e->callers[i]);
}

static void add_line(const struct hv_event *e, struct hv_text *out)
{
	size_t len = e->text_len;

	hv_ctf_add_number(out, e->ip.v, 8);
	add_string(out, len ? e->text : "", len && e->text[len - 1] == '\n' ? len - 1 : len);
}

static void add_tracers(const struct hv_ctf_classes *c, const struct hv_event *e,
			struct hv_text *out)
{
	switch (e->kind) {
	case HV_EVENT_FUNCTION:
		add_call(c, e, out);
		hv_ctf_add_number(out, e->parent_ip.v, 8);
		add_function(c, out, e->parent_ip);
		return;
	case HV_EVENT_GRAPH_ENTRY:
		add_call(c, e, out);
		hv_ctf_add_number(out, e->depth, 4);
		return;
	case HV_EVENT_GRAPH_EXIT:
		add_exit(c, e, out);
		return;
	case HV_EVENT_PRINT:
		add_line(e, out);
		return;
	case HV_EVENT_RAW_DATA:
		hv_ctf_add_number(out, e->text_len, 4);
		hv_text_add_bytes(out, e->text_len ? e->text : "", e->text_len);
		return;
	case HV_EVENT_STACK:
		add_stack(c, e, out);
		return;
	case HV_EVENT_GUESTS:
	case HV_EVENT_COMMAND:
		return;
	}
}

/* The guest's trace events. */

static bool has_field(const struct hv_ctf_class *class, const char *name)
{
	for (size_t i = 0; i < class->nr_fields; i++)
		if (strcmp(class->fields[i].name, name) == 0 ||
		    (class->fields[i].length && strcmp(class->fields[i].length, name) == 0))
			return true;
	return false;
}

/* The underscore prevents collisions with keywords, and readers remove it. Names must be unique:
 * readers crash on two fields with one name. */
static char *identifier(const struct hv_ctf_class *class, const char *name, const char *suffix,
			unsigned *nr_tried)
{
	HV_AUTO_TEXT struct hv_text id = {0};
	size_t len;

	hv_text_add_char(&id, '_');
	for (size_t i = 0; name[i] && i < NAME_MAX_LEN; i++) {
		char c = name[i];
		bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		hv_text_add_char(&id, is_letter || (c >= '0' && c <= '9') ? c : '_');
	}
	hv_text_add(&id, suffix);
	len = id.len_bytes;
	while (has_field(class, id.data)) {
		id.len_bytes = len;
		hv_text_printf(&id, "_%u", ++*nr_tried);
	}
	return hv_text_take(&id);
}

/* The last field of CLASS is an array. */
static void make_array(struct hv_ctf_class *class, const struct hv_event_field *of,
		       unsigned *nr_tried)
{
	struct hv_ctf_field *field = &class->fields[class->nr_fields - 1];

	field->length = identifier(class, of->name, "_length", nr_tried);
	field->element_bytes = hv_entry_element_bytes(of);
}

static void make_class(struct hv_ctf_class *class, const struct hv_event_type *type)
{
	unsigned nr_tried = 0;

	class->type = type;
	class->fields = hv_realloc_array(NULL, type->fields.nr + 1, sizeof(*class->fields));
	for (size_t i = 0; i < type->fields.nr; i++) {
		const struct hv_event_field *of = &type->fields.list[i];
		struct hv_ctf_field field = {.of = of, .kind = hv_entry_kind(of)};

		field.name = identifier(class, of->name, "", &nr_tried);
		field.element_bytes = of->size_bytes;
		class->fields[class->nr_fields++] = field;
		if (field.kind == HV_ENTRY_BYTES)
			make_array(class, of, &nr_tried);
	}
}

static void describe_field(const struct hv_ctf_field *f, struct hv_text *out)
{
	char sign = f->of->is_signed ? 's' : 'u';
	unsigned bits = 8 * f->element_bytes;

	switch (f->kind) {
	case HV_ENTRY_NUMBER:
		hv_text_printf(out, "%c%u %s; ", sign, bits, f->name);
		return;
	case HV_ENTRY_POINTER:
		hv_text_printf(out, "x%u %s; ", bits, f->name);
		return;
	case HV_ENTRY_STRING:
		hv_text_printf(out, "string %s; ", f->name);
		return;
	case HV_ENTRY_BYTES:
		hv_text_printf(out, "u32 %s; %c%u %s[%s]; ", f->length,
			       f->element_bytes == 1 ? 'x' : sign, bits, f->name, f->length);
	}
}

static void add_field(const struct hv_ctf_field *f, struct hv_span entry, struct hv_text *out)
{
	struct hv_entry_value value = {0};
	size_t nr;

	if (!hv_entry_value(f->of, entry, &value))
		value = (struct hv_entry_value){.bytes = {(const uint8_t *)"", 0}};
	switch (f->kind) {
	case HV_ENTRY_NUMBER:
	case HV_ENTRY_POINTER:
		hv_ctf_add_number(out, value.number, f->element_bytes);
		return;
	case HV_ENTRY_STRING:
		add_string(out, (const char *)value.bytes.data, value.bytes.len_bytes);
		return;
	case HV_ENTRY_BYTES:
		nr = value.bytes.len_bytes / f->element_bytes;
		hv_ctf_add_number(out, nr, 4);
		hv_text_add_bytes(out, value.bytes.data, nr * f->element_bytes);
	}
}

static bool is_tracers(const struct hv_ctf_classes *c, uint32_t id)
{
	for (unsigned kind = 0; kind < NR_KINDS; kind++)
		if (c->decode->layout.records[kind].id == id)
			return true;
	return false;
}

void hv_ctf_classes_init(struct hv_ctf_classes *c, const struct hv_page_decode *decode)
{
	const struct hv_catalogue *catalogue = &decode->catalogue;

	*c = (struct hv_ctf_classes){.decode = decode};
	c->list = hv_alloc((catalogue->nr + 1) * sizeof(*c->list));
	c->by_id = hv_alloc(NR_IDS * sizeof(*c->by_id));
	for (size_t i = 0; i < catalogue->nr; i++) {
		const struct hv_event_type *type = &catalogue->types[i];

		if (type->id >= NR_IDS || c->by_id[type->id] || is_tracers(c, type->id) ||
		    hv_catalogue_by_id(catalogue, type->id) != type)
			continue;
		make_class(&c->list[c->nr], type);
		c->by_id[type->id] = (uint32_t)++c->nr;
	}
}

void hv_ctf_classes_deinit(struct hv_ctf_classes *c)
{
	for (size_t i = 0; i < c->nr; i++) {
		for (size_t k = 0; k < c->list[i].nr_fields; k++) {
			free(c->list[i].fields[k].name);
			free(c->list[i].fields[k].length);
		}
		free(c->list[i].fields);
	}
	free(c->list);
	free(c->by_id);
	*c = (struct hv_ctf_classes){0};
}

static void begin_event(struct hv_text *out, const char *name, uint32_t id)
{
	hv_text_add(out, "event { name = ");
	hv_ctf_add_quoted(out, name);
	hv_text_printf(out, "; id = %" PRIu32 "; stream_id = 0; fields := struct { ", id);
}

/* The host can have an event with the same name as the guest. */
static void begin_guests(struct hv_text *out, const struct hv_event_type *type)
{
	HV_AUTO_FREE char *name =
		hv_format("%s%s", hv_host_event_is(type->id) ? "host:" : "", type->name);

	begin_event(out, name, type->id);
}

/* In a modified file, two kinds can have the same id. The first one is used. */
static bool is_first(const struct hv_raw_layout *layout, unsigned kind)
{
	for (unsigned i = 0; i < kind; i++)
		if (layout->records[i].id == layout->records[kind].id)
			return false;
	return true;
}

void hv_ctf_classes_describe(const struct hv_ctf_classes *c, struct hv_text *out)
{
	const struct hv_raw_layout *layout = &c->decode->layout;

	for (unsigned kind = 0; kind < NR_KINDS; kind++) {
		if (!is_first(layout, kind))
			continue;
		begin_event(out, tracer_names[kind], layout->records[kind].id);
		hv_text_add(out, tracer_fields[kind]);
		if (kind == HV_EVENT_GRAPH_EXIT && has_retval(c))
			hv_text_add(out, "x64 _retval; ");
		hv_text_add(out, "}; };\n");
	}
	for (size_t i = 0; i < c->nr; i++) {
		const struct hv_ctf_class *class = &c->list[i];

		begin_guests(out, class->type);
		for (size_t k = 0; k < class->nr_fields; k++)
			describe_field(&class->fields[k], out);
		hv_text_add(out, "}; };\n");
	}
}

static void add_context(const struct hv_event *e, struct hv_text *out)
{
	const uint8_t bytes[CONTEXT_BYTES] = {e->flags, e->preempt_depth, e->migrate_depth,
					      e->lazy_depth};

	hv_ctf_add_number(out, e->pid, 4);
	add_string(out, e->comm, sizeof(e->comm));
	hv_text_add_bytes(out, bytes, sizeof(bytes));
}

bool hv_ctf_classes_add(const struct hv_ctf_classes *c, const struct hv_event *e,
			struct hv_text *out, uint16_t *ret_id)
{
	const struct hv_ctf_class *class;

	if (e->kind < NR_KINDS) {
		*ret_id = c->decode->layout.records[e->kind].id;
		add_context(e, out);
		add_tracers(c, e, out);
		return true;
	}
	if (e->kind != HV_EVENT_GUESTS || !c->by_id[e->id])
		return false;
	class = &c->list[c->by_id[e->id] - 1];
	*ret_id = e->id;
	add_context(e, out);
	for (size_t i = 0; i < class->nr_fields; i++)
		add_field(&class->fields[i], e->entry, out);
	return true;
}
