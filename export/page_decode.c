/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/page_decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/prefix.h"
#include "tracer/events/host_event.h"

#define FREE_BUCKET	UINT32_MAX
#define FIELDS_MAX	256 /* per event */
#define SYMBOLS_MAX	(1u << 24)
#define TASKS_FIRST	1024
#define TASKS_MAX	(1u << 18) /* maximum number of known names */
#define SYMBOL_LINE_MIN 20	   /* shorter than any line: "ffffffff81000000 T x\n" */
#define COMMON		"common_"

/* Lines. */

/* Returns the next line of TEXT without its newline. Returns false at the end. */
static bool next_line(struct hv_export_text *text, struct hv_export_text *ret)
{
	const char *end;

	if (!text->len_bytes)
		return false;
	end = memchr(text->text, '\n', text->len_bytes);
	*ret = (struct hv_export_text){text->text,
				       end ? (size_t)(end - text->text) : text->len_bytes};
	text->len_bytes -= ret->len_bytes + (end ? 1 : 0);
	text->text += ret->len_bytes + (end ? 1 : 0);
	return true;
}

/* Formats. */

static bool parse_field(struct hv_store *store, const char *line, struct hv_event_field *ret)
{
	struct hv_field_line parsed;
	HV_AUTO_FREE char *type = NULL;

	if (!hv_field_line_parse(line, &parsed))
		return false;
	type = hv_format("%.*s%.*s", (int)parsed.type.len, parsed.type.text, (int)parsed.array.len,
			 parsed.array.text);
	*ret = (struct hv_event_field){
		.name = hv_store_string(store, parsed.name.text, parsed.name.len),
		.type = hv_store_string(store, type, strlen(type)),
		.off = parsed.off,
		.size_bytes = parsed.size_bytes,
		.is_signed = parsed.is_signed,
	};
	return true;
}

static void add_field(struct hv_store *store, struct hv_event_fields *fields,
		      const struct hv_event_field *field)
{
	if (!fields->list)
		fields->list = hv_store_alloc(store, FIELDS_MAX * sizeof(*fields->list));
	if (fields->nr < FIELDS_MAX)
		fields->list[fields->nr++] = *field;
}

static void parse_line(struct hv_catalogue *c, struct hv_event_type *type, const char *line,
		       struct hv_event_fields *common)
{
	struct hv_event_field field;

	if (hv_starts_with(line, "name: "))
		type->name = hv_store_string(&c->store, line + 6, strlen(line + 6));
	else if (hv_starts_with(line, "ID: "))
		sscanf(line + 4, "%" SCNu32, &type->id);
	else if (hv_starts_with(line, "print fmt: "))
		type->print_fmt = hv_store_string(&c->store, line + 11, strlen(line + 11));
	else if (parse_field(&c->store, line, &field))
		add_field(&c->store, hv_starts_with(field.name, COMMON) ? common : &type->fields,
			  &field);
}

static void parse_event(struct hv_catalogue *c, const struct hv_export_event *event)
{
	struct hv_event_type *type = &c->types[c->nr];
	struct hv_event_fields common = {0};
	struct hv_export_text text = event->format, line;

	*type = (struct hv_event_type){
		.system = event->system, .print_fmt = "", .has_fields = true};
	while (next_line(&text, &line)) {
		HV_AUTO_FREE char *copy = hv_format("%.*s", (int)line.len_bytes, line.text);

		parse_line(c, type, copy, &common);
	}
	if (!type->name)
		return;
	c->common = common;
	c->nr++;
}

static void read_formats(struct hv_catalogue *c, const struct hv_export_head *head)
{
	c->types = hv_realloc_array(NULL, head->nr_events + 1, sizeof(*c->types));
	for (size_t i = 0; i < head->nr_events; i++)
		parse_event(c, &head->events[i]);
	hv_catalogue_index(c);
}

/* Symbols. */

/* Parses "ffffffff81000000 T name", with "[module]" after names of modules. Changes LINE. */
static bool parse_symbol(char *line, struct hv_symbol *ret)
{
	char *end, *name;
	unsigned long long addr = strtoull(line, &end, 16);

	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !end[3])
		return false;
	name = end + 3;
	name[strcspn(name, "\t")] = '\0';
	*ret = (struct hv_symbol){hv_gva(addr), name, end[1]};
	return true;
}

static void read_symbols(struct hv_symbols *s, struct hv_export_text text)
{
	size_t max = text.len_bytes / SYMBOL_LINE_MIN + 1;
	char *line, *rest;

	if (max > SYMBOLS_MAX)
		max = SYMBOLS_MAX;
	s->names = hv_alloc(text.len_bytes + 1);
	s->by_addr = hv_realloc_array(NULL, max, sizeof(*s->by_addr));
	memcpy(s->names, text.len_bytes ? text.text : "", text.len_bytes);
	for (rest = s->names; s->nr < max && (line = strsep(&rest, "\n"));)
		if (parse_symbol(line, &s->by_addr[s->nr]))
			s->nr++;
	hv_symbols_index(s);
}

const struct hv_symbol *hv_page_decode_symbol(const struct hv_page_decode *d, struct hv_gva addr)
{
	return d->symbols.nr ? hv_symbols_at(&d->symbols, addr) : NULL;
}

/* Tasks. */

static struct hv_page_decode_task *find_bucket(const struct hv_page_decode *d, uint32_t pid)
{
	size_t at = (pid * UINT32_C(2654435761)) & (d->nr_buckets - 1);

	while (d->tasks[at].pid != FREE_BUCKET && d->tasks[at].pid != pid)
		at = (at + 1) & (d->nr_buckets - 1);
	return &d->tasks[at];
}

static void make_buckets(struct hv_page_decode *d, size_t nr)
{
	struct hv_page_decode_task *old = d->tasks;
	size_t nr_old = d->nr_buckets;

	d->tasks = hv_realloc_array(NULL, nr, sizeof(*d->tasks));
	d->nr_buckets = nr;
	for (size_t i = 0; i < nr; i++)
		d->tasks[i].pid = FREE_BUCKET;
	for (size_t i = 0; i < nr_old; i++)
		if (old[i].pid != FREE_BUCKET)
			*find_bucket(d, old[i].pid) = old[i];
	free(old);
}

/* Drops all names. They are sent repeatedly, so the needed ones arrive again soon. */
static void forget_tasks(struct hv_page_decode *d)
{
	free(hv_take(d->tasks));
	d->nr_tasks = d->nr_buckets = 0;
	make_buckets(d, TASKS_FIRST);
}

static void name_task(struct hv_page_decode *d, uint32_t pid, struct hv_export_text comm)
{
	struct hv_page_decode_task *t;

	if (pid == FREE_BUCKET)
		return;
	if (2 * (d->nr_tasks + 1) > d->nr_buckets)
		make_buckets(d, 2 * d->nr_buckets);
	t = find_bucket(d, pid);
	if (t->pid == FREE_BUCKET && d->nr_tasks == TASKS_MAX) {
		forget_tasks(d);
		t = find_bucket(d, pid);
	}
	if (t->pid == FREE_BUCKET)
		d->nr_tasks++;
	*t = (struct hv_page_decode_task){.pid = pid};
	if (comm.len_bytes >= sizeof(t->comm))
		comm.len_bytes = sizeof(t->comm) - 1;
	memcpy(t->comm, comm.text, comm.len_bytes);
}

void hv_page_decode_name_tasks(struct hv_page_decode *d, struct hv_export_text text)
{
	struct hv_export_text line;

	while (next_line(&text, &line)) {
		const char *blank = memchr(line.text, ' ', line.len_bytes);
		uint64_t pid = 0;

		for (const char *c = line.text; blank && c < blank && pid < FREE_BUCKET; c++)
			pid = *c >= '0' && *c <= '9' ? 10 * pid + (uint64_t)(*c - '0')
						     : FREE_BUCKET;
		if (!blank || blank == line.text || pid >= FREE_BUCKET)
			continue;
		name_task(d, (uint32_t)pid,
			  (struct hv_export_text){
				  blank + 1, line.len_bytes - (size_t)(blank + 1 - line.text)});
	}
}

/* Events. */

static uint64_t value_at(struct hv_span payload, size_t off, size_t len)
{
	uint64_t value = 0;

	if (len <= sizeof(value))
		hv_span_copy(payload, off, &value, len);
	return value;
}

static uint64_t value_of(const struct hv_raw_record *r, struct hv_span payload,
			 enum hv_raw_field field)
{
	return value_at(payload, r->fields[field].off, r->fields[field].len_bytes);
}

const struct hv_event_type *hv_page_decode_type(const struct hv_page_decode *d,
						struct hv_span payload)
{
	uint16_t id = 0;

	hv_span_u16(payload, 0, &id);
	return hv_catalogue_by_id(&d->catalogue, id);
}

bool hv_page_decode_has_host(const struct hv_page_decode *d)
{
	return d->layout.records[HV_EVENT_GRAPH_EXIT].fields[HV_RAW_HOST].len_bytes;
}

static uint32_t pid_of(const struct hv_page_decode *d, struct hv_span payload)
{
	return (uint32_t)value_of(&d->layout.records[HV_EVENT_FUNCTION], payload, HV_RAW_PID);
}

static bool is_of_host(struct hv_span payload)
{
	uint16_t id;

	return hv_span_u16(payload, 0, &id) && hv_host_event_is(id);
}

bool hv_page_decode_lacks_names(const struct hv_page_decode *d, struct hv_span page)
{
	uint32_t pid, last = 0;
	struct hv_raw_events r;
	struct hv_raw_event e;

	if (!hv_raw_events_begin(&r, page))
		return false;
	for (; hv_raw_events_next(&r, &e); last = pid) {
		pid = pid_of(d, e.payload);
		if (!is_of_host(e.payload) && pid != last && find_bucket(d, pid)->pid != pid)
			return true;
	}
	return false;
}

static void name(const struct hv_page_decode *d, struct hv_event *e)
{
	const struct hv_page_decode_task *t = find_bucket(d, e->pid);

	if (!e->pid)
		strcpy(e->comm, "<idle>");
	else if (t->pid != FREE_BUCKET && t->pid == e->pid)
		memcpy(e->comm, t->comm, sizeof(e->comm));
	else
		strcpy(e->comm, HV_COMM_UNKNOWN);
}

/* The text of a print event ends with a newline and a NUL. */
static void find_rest(struct hv_page_decode *d, const struct hv_raw_record *r,
		      struct hv_span payload, struct hv_event *e)
{
	size_t off = r->fields[HV_RAW_REST].off;
	struct hv_span rest = {payload.data + off, payload.len_bytes - off};

	if (e->kind == HV_EVENT_STACK) {
		size_t nr = value_of(r, payload, HV_RAW_NR_CALLERS);

		while (e->nr_callers < nr && e->nr_callers < HV_PAGE_DECODE_CALLERS_MAX &&
		       hv_span_u64(rest, 8 * e->nr_callers, &d->callers[e->nr_callers].v))
			e->nr_callers++;
		e->callers = d->callers;
		return;
	}
	e->text = (const char *)rest.data;
	e->text_len = rest.len_bytes;
	if (e->kind == HV_EVENT_PRINT)
		e->text_len = strnlen(e->text, rest.len_bytes);
}

static void fill_common(const struct hv_page_decode *d, const struct hv_raw_record *r,
			struct hv_span payload, struct hv_event *e)
{
	uint64_t preempt = value_of(r, payload, HV_RAW_PREEMPT_COUNT);

	e->pid = (uint32_t)value_of(r, payload, HV_RAW_PID);
	e->flags = (uint8_t)value_of(r, payload, HV_RAW_FLAGS);
	e->preempt_depth = preempt & 15;
	e->migrate_depth = preempt >> 4 & 15;
	e->lazy_depth = (uint8_t)value_of(r, payload, HV_RAW_LAZY_COUNT);
	name(d, e);
}

static void fill(struct hv_page_decode *d, const struct hv_raw_record *r, struct hv_span payload,
		 struct hv_event *e)
{
	fill_common(d, r, payload, e);
	e->ip = hv_gva(value_of(r, payload, HV_RAW_IP));
	e->parent_ip = hv_gva(value_of(r, payload, HV_RAW_PARENT_IP));
	e->depth = (uint16_t)value_of(r, payload, HV_RAW_DEPTH);
	e->overrun = (uint32_t)value_of(r, payload, HV_RAW_OVERRUN);
	e->call_ns = value_of(r, payload, HV_RAW_CALL_NS);
	e->has_retval = r->fields[HV_RAW_RETVAL].len_bytes != 0;
	e->retval = value_of(r, payload, HV_RAW_RETVAL);
	e->host_ns = value_of(r, payload, HV_RAW_HOST);
	if (r->fields[HV_RAW_REST].len_bytes)
		find_rest(d, r, payload, e);
}

bool hv_page_decode_event(struct hv_page_decode *d, const struct hv_merged *m, struct hv_event *ret)
{
	struct hv_span payload = m->event.payload;
	uint16_t id;

	if (!hv_span_u16(payload, 0, &id))
		return false;
	for (unsigned kind = 0; kind < HV_EVENT_COMMAND; kind++) {
		const struct hv_raw_record *r = &d->layout.records[kind];

		if (r->id != id || payload.len_bytes < r->len_bytes)
			continue;
		*ret = (struct hv_event){.kind = kind, .cpu = m->cpu, .time_ns = m->event.time_ns};
		fill(d, r, payload, ret);
		return true;
	}
	if (!hv_catalogue_by_id(&d->catalogue, id))
		return false;
	*ret = (struct hv_event){.kind = HV_EVENT_GUESTS,
				 .cpu = m->cpu,
				 .time_ns = m->event.time_ns,
				 .entry = payload,
				 .id = id};
	fill_common(d, &d->layout.records[HV_EVENT_FUNCTION], payload, ret);
	if (hv_host_event_is(id))
		strcpy(ret->comm, HV_COMM_HOST);
	return true;
}

void hv_page_decode_init(struct hv_page_decode *d, const struct hv_export_head *head)
{
	*d = (struct hv_page_decode){0};
	read_formats(&d->catalogue, head);
	hv_raw_layout_init(&d->layout, &d->catalogue);
	read_symbols(&d->symbols, head->kallsyms);
	make_buckets(d, TASKS_FIRST);
}

void hv_page_decode_deinit(struct hv_page_decode *d)
{
	hv_catalogue_deinit(&d->catalogue);
	hv_symbols_deinit(&d->symbols);
	free(d->tasks);
}
