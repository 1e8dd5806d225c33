/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/dat_head.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "tree/format/raw_page.h"

/* -- fields inside the record ------------------------------------------------------------------ */

#define FIELD	   "\tfield:"
#define OFFSET	   ";\toffset:"
#define SIZE	   ";\tsize:"
#define SIGN	   ";\tsigned:"
#define BEGIN	   "format:"
#define END	   "print fmt:"
#define DIGITS	   "0123456789"
#define DIGITS_MAX 9

static bool begins_with(const char *at, const char *end, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(end - at) >= len && memcmp(at, word, len) == 0;
}

/* Parses WORD and a number, and advances *AT. Returns false if they are not there. */
static bool take_number(const char **at, const char *end, const char *word, size_t *ret)
{
	size_t nr = 0, value = 0;

	if (!begins_with(*at, end, word))
		return false;
	*at += strlen(word);
	for (; *at + nr < end && nr <= DIGITS_MAX && strchr(DIGITS, (*at)[nr]) && (*at)[nr]; nr++)
		value = value * 10 + (size_t)((*at)[nr] - '0');
	*at += nr;
	*ret = value;
	return nr && nr <= DIGITS_MAX;
}

/* LINE excludes the newline. As in parsers, the name ends at the first semicolon. */
static bool is_field_within(const char *line, const char *end, size_t max_bytes)
{
	const char *at = memchr(line, ';', (size_t)(end - line));
	size_t off, size, sign;

	if (!begins_with(line, end, FIELD) || !at || !take_number(&at, end, OFFSET, &off) ||
	    !take_number(&at, end, SIZE, &size) || !take_number(&at, end, SIGN, &sign) ||
	    !begins_with(at, end, ";") || at + 1 != end)
		return false;
	return off <= max_bytes && size <= max_bytes - off;
}

void hv_format_fields_add(struct hv_text *out, struct hv_export_text format, size_t max_bytes)
{
	const char *at = format.text, *end = at + format.len_bytes;
	bool is_in = false;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		size_t len = (size_t)(stop - at) + (newline != NULL);

		if (begins_with(at, stop, END)) {
			hv_text_add_bytes(out, at, (size_t)(end - at));
			return;
		}
		if (!is_in || at == stop || is_field_within(at, stop, max_bytes))
			hv_text_add_bytes(out, at, len);
		is_in = is_in || begins_with(at, stop, BEGIN);
		at += len;
	}
}

/* -- the head ---------------------------------------------------------------------------------- */

#define MAGIC		 "\x17\x08\x44tracing7"
#define LONG_BYTES	 8
#define SECTION_LEN	 16
#define SECTION_SIZE_OFF 8
#define FLAG_COMPRESSED	 1
#define LEVEL		 3

enum { /* ids of sections, and of the options with their offsets */
       DAT_OPTIONS = 0,
       DAT_DATE = 1,
       DAT_BUFFER = 3,
       DAT_TRACE_CLOCK = 4,
       DAT_UNAME = 5,
       DAT_CPU_COUNT = 8,
       DAT_VERSION = 9,
       DAT_TRACE_ID = 11,
       DAT_GUEST = 13,
       DAT_STRINGS = 15,
       DAT_HEADER_INFO = 16,
       DAT_FTRACE_EVENTS = 17,
       DAT_EVENT_FORMATS = 18,
       DAT_KALLSYMS = 19,
       DAT_PRINTK = 20,
       DAT_NAMES = 21,
       DAT_NR_IDS
};

#define FTRACE_SYSTEM "ftrace"

/* The head under construction. */
struct making {
	struct hv_text *out;
	const struct hv_export_head *head;
	enum hv_compression compression;
	uint64_t section_off[DAT_NR_IDS]; /* 0: no section */
};

static void add_u16(struct hv_text *out, uint16_t value)
{
	hv_text_add_bytes(out, &value, sizeof(value));
}

static void add_u32(struct hv_text *out, uint32_t value)
{
	hv_text_add_bytes(out, &value, sizeof(value));
}

static void add_u64(struct hv_text *out, uint64_t value)
{
	hv_text_add_bytes(out, &value, sizeof(value));
}

/* Includes the NUL. */
static void add_string(struct hv_text *out, const char *s)
{
	hv_text_add_bytes(out, s, strlen(s) + 1);
}

static void add_text(struct hv_text *out, struct hv_export_text text)
{
	hv_text_add_bytes(out, text.len_bytes ? text.text : "", text.len_bytes);
}

/* Sections have no description: -1 is no offset into STRINGS. */
static void add_section_header(struct hv_text *out, unsigned id, unsigned flags, uint64_t len)
{
	add_u16(out, (uint16_t)id);
	add_u16(out, (uint16_t)flags);
	add_u32(out, UINT32_MAX);
	add_u64(out, len);
}

/* A compressed section begins with its compressed and its uncompressed length. */
static void add_compressed(struct hv_text *out, unsigned id, const struct hv_text *body)
{
	size_t bound = ZSTD_compressBound(body->len_bytes);
	HV_AUTO_FREE char *packed = hv_alloc(bound);
	size_t len = ZSTD_compress(packed, bound, body->data, body->len_bytes, LEVEL);

	add_section_header(out, id, FLAG_COMPRESSED, 8 + len);
	add_u32(out, (uint32_t)len);
	add_u32(out, (uint32_t)body->len_bytes);
	hv_text_add_bytes(out, packed, len);
}

static void add_section(struct making *m, unsigned id, const struct hv_text *body)
{
	m->section_off[id] = m->out->len_bytes;
	if (m->compression == HV_COMPRESSION_ZSTD) {
		add_compressed(m->out, id, body);
		return;
	}
	add_section_header(m->out, id, 0, body->len_bytes);
	hv_text_add_bytes(m->out, body->data, body->len_bytes);
}

static void add_header_info(struct making *m)
{
	HV_AUTO_TEXT struct hv_text body = {0};

	add_string(&body, "header_page");
	add_u64(&body, m->head->header_page.len_bytes);
	add_text(&body, m->head->header_page);
	add_string(&body, "header_event");
	add_u64(&body, m->head->header_event.len_bytes);
	add_text(&body, m->head->header_event);
	add_section(m, DAT_HEADER_INFO, &body);
}

/* Returns the number of events from FROM on that belong to the same system. */
static size_t nr_of_system(const struct hv_export_head *head, size_t from)
{
	size_t nr = 1;

	while (from + nr < head->nr_events &&
	       strcmp(head->events[from + nr].system, head->events[from].system) == 0)
		nr++;
	return nr;
}

static void add_formats(struct hv_text *out, const struct hv_export_head *head, size_t from)
{
	size_t nr = nr_of_system(head, from);

	add_u32(out, (uint32_t)nr);
	for (size_t i = from; i < from + nr; i++) {
		HV_AUTO_TEXT struct hv_text format = {0};

		hv_format_fields_add(&format, head->events[i].format,
				     head->page_bytes - HV_RAW_HEAD_LEN);
		hv_text_add(&format, "");
		add_u64(out, format.len_bytes);
		hv_text_add_bytes(out, format.data, format.len_bytes);
	}
}

static bool is_ftrace(const struct hv_export_head *head, size_t i)
{
	return strcmp(head->events[i].system, FTRACE_SYSTEM) == 0;
}

/* The events of tracers have a separate section. */
static void add_events(struct making *m)
{
	HV_AUTO_TEXT struct hv_text ftrace = {0}, systems = {0}, body = {0};
	const struct hv_export_head *head = m->head;
	uint32_t nr_systems = 0;

	for (size_t i = 0; i < head->nr_events; i += nr_of_system(head, i)) {
		if (is_ftrace(head, i)) {
			hv_text_clear(&ftrace);
			add_formats(&ftrace, head, i);
			continue;
		}
		nr_systems++;
		add_string(&systems, head->events[i].system);
		add_formats(&systems, head, i);
	}
	if (!ftrace.len_bytes)
		add_u32(&ftrace, 0);
	add_section(m, DAT_FTRACE_EVENTS, &ftrace);
	add_u32(&body, nr_systems);
	hv_text_add_bytes(&body, systems.len_bytes ? systems.data : "", systems.len_bytes);
	add_section(m, DAT_EVENT_FORMATS, &body);
}

static void add_counted(struct making *m, unsigned id, struct hv_export_text text)
{
	HV_AUTO_TEXT struct hv_text body = {0};

	add_u32(&body, (uint32_t)text.len_bytes);
	add_text(&body, text);
	add_section(m, id, &body);
}

static void add_option(struct hv_text *out, unsigned id, const void *data, size_t len_bytes)
{
	add_u16(out, (uint16_t)id);
	add_u32(out, (uint32_t)len_bytes);
	hv_text_add_bytes(out, data, len_bytes);
}

/* Returns the length of the BUFFER option. */
static size_t buffer_option_len(const struct hv_export_head *head)
{
	return 6 + 8 + 1 + strlen(head->clock) + 1 + 4 + 4 +
	       (size_t)head->nr_cpus * HV_DAT_INDEX_ENTRY;
}

#define OFFSET_OPTION_LEN (6 + 8)

/* The offset that is added to all times, as text in microseconds, like `trace-cmd record
 * --date`. */
static void add_date(const struct making *m, struct hv_text *out)
{
	char text[24];
	int len = snprintf(text, sizeof(text), "0x%" PRIx64, m->head->clock_epoch_ns / 1000);

	if (m->head->has_date)
		add_option(out, DAT_DATE, text, (size_t)len + 1);
}

/* In the host's file: the guest's name, the id of its file, and the threads of its vCPUs. */
static void add_guest(const struct making *m, struct hv_text *out)
{
	const struct hv_export_guest *guest = m->head->guest;
	HV_AUTO_TEXT struct hv_text body = {0};

	if (!guest)
		return;
	add_string(&body, guest->name);
	add_u64(&body, guest->trace_id);
	add_u32(&body, m->head->nr_cpus);
	for (uint32_t cpu = 0; cpu < m->head->nr_cpus; cpu++) {
		add_u32(&body, cpu);
		add_u32(&body, (uint32_t)guest->vcpu_tids[cpu]);
	}
	add_option(out, DAT_GUEST, body.data, body.len_bytes);
}

static void add_known_options(const struct making *m, struct hv_text *out)
{
	const struct hv_export_head *head = m->head;
	HV_AUTO_FREE char *clock = hv_alloc(head->trace_clock.len_bytes + 1);
	uint32_t nr_cpus = head->nr_cpus;

	for (unsigned id = DAT_HEADER_INFO; id <= DAT_PRINTK; id++)
		add_option(out, id, &m->section_off[id], sizeof(m->section_off[id]));
	memcpy(clock, head->trace_clock.text, head->trace_clock.len_bytes);
	add_date(m, out);
	add_option(out, DAT_TRACE_CLOCK, clock, head->trace_clock.len_bytes + 1);
	add_option(out, DAT_UNAME, head->kernel, strlen(head->kernel) + 1);
	add_option(out, DAT_VERSION, head->program, strlen(head->program) + 1);
	add_option(out, DAT_CPU_COUNT, &nr_cpus, sizeof(nr_cpus));
	if (head->trace_id)
		add_option(out, DAT_TRACE_ID, &head->trace_id, sizeof(head->trace_id));
	add_guest(m, out);
}

/* The buffer with the empty name is the top-level instance. */
static void add_buffer_option(const struct making *m, struct hv_text *out, uint64_t buffer_off,
			      size_t *ret_index)
{
	const struct hv_export_head *head = m->head;

	add_u16(out, DAT_BUFFER);
	add_u32(out, (uint32_t)(buffer_option_len(head) - 6));
	add_u64(out, buffer_off);
	add_string(out, "");
	add_string(out, head->clock);
	add_u32(out, (uint32_t)head->page_bytes);
	add_u32(out, head->nr_cpus);
	*ret_index = out->len_bytes;
	for (uint32_t cpu = 0; cpu < head->nr_cpus; cpu++) {
		add_u32(out, cpu);
		add_u64(out, 0);
		add_u64(out, 0);
	}
}

/* Options are not compressed, because the index is updated in place. */
static void add_options(struct making *m, struct hv_dat_head *h)
{
	HV_AUTO_TEXT struct hv_text options = {0};
	uint64_t begin = m->out->len_bytes + SECTION_LEN, names;
	size_t index = 0;

	add_known_options(m, &options);
	names = begin + options.len_bytes + 2 * OFFSET_OPTION_LEN + buffer_option_len(m->head);
	h->names_off = names + SECTION_LEN;
	h->buffer_off = h->names_off + HV_DAT_NAMES_BYTES;
	add_option(&options, DAT_NAMES, &names, sizeof(names));
	add_buffer_option(m, &options, h->buffer_off, &index);
	add_option(&options, DAT_OPTIONS, &(uint64_t){0}, sizeof(uint64_t));
	h->index_off = begin + index;
	add_section_header(m->out, DAT_OPTIONS, 0, options.len_bytes);
	hv_text_add_bytes(m->out, options.data, options.len_bytes);
}

static void add_initial(struct making *m)
{
	bool is_zstd = m->compression == HV_COMPRESSION_ZSTD;

	add_string(m->out, MAGIC);
	hv_text_add_bytes(m->out, (const uint8_t[]){0, LONG_BYTES}, 2); /* little endian */
	add_u32(m->out, (uint32_t)m->head->page_bytes);
	add_string(m->out, is_zstd ? "zstd" : "none");
	add_string(m->out, is_zstd ? ZSTD_versionString() : "");
}

static uint64_t align_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

void hv_dat_head_add_buffer(struct hv_text *out, enum hv_compression compression)
{
	add_section_header(out, DAT_BUFFER,
			   compression == HV_COMPRESSION_ZSTD ? FLAG_COMPRESSED : 0, 0);
}

void hv_dat_head_init(struct hv_dat_head *h, const struct hv_export_head *head,
		      enum hv_compression compression)
{
	struct making m = {.out = &h->bytes, .head = head, .compression = compression};
	HV_AUTO_TEXT struct hv_text strings = {0};
	uint64_t options;
	size_t options_at;

	*h = (struct hv_dat_head){0};
	add_initial(&m);
	options_at = h->bytes.len_bytes;
	add_u64(&h->bytes, 0);
	add_string(&strings, "");
	add_section(&m, DAT_STRINGS, &strings);
	add_header_info(&m);
	add_events(&m);
	add_counted(&m, DAT_KALLSYMS, head->kallsyms);
	add_counted(&m, DAT_PRINTK, head->printk_formats);
	options = h->bytes.len_bytes;
	memcpy(h->bytes.data + options_at, &options, sizeof(options));
	add_options(&m, h);
	add_section_header(&h->bytes, DAT_NAMES, 0, HV_DAT_NAMES_BYTES);
	h->size_off = h->buffer_off + SECTION_SIZE_OFF;
	h->data_off = align_up(h->buffer_off + SECTION_LEN, head->page_bytes);
}

void hv_dat_head_deinit(struct hv_dat_head *h)
{
	hv_text_deinit(&h->bytes);
}
