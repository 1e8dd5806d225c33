/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tracer/events/host_event.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "ringbuf/abi_bits.h"

/* -- records ----------------------------------------------------------------------------------- */

/* Word 2 of the record has the flags, count and pid of the entry's common fields. */
#define COUNT_MASK 0xff

unsigned hv_host_event_encode(uint64_t tsc, uint16_t id, struct hv_span entry,
			      struct hv_record *ret)
{
	struct hv_record record = {
		.word = {tsc & ~HV_RECORD_ZEROS, 0, 0,
			 (uint64_t)HV_RECORD_EVENT << HV_RECORD_KIND_SHIFT},
	};
	const struct hv_event event = {.id = id, .entry = entry};
	uint8_t flags = 0, count = 0;
	uint32_t pid = 0;

	hv_span_u8(entry, 2, &flags);
	hv_span_u8(entry, 3, &count);
	hv_span_u32(entry, 4, &pid);
	record.word[2] =
		count | (uint64_t)flags << HV_CALL_FLAGS_SHIFT | (uint64_t)pid << HV_CALL_PID_SHIFT;
	return hv_encode_entry(&record, &event, ret);
}

void hv_host_event_decode(const struct hv_record *record, struct hv_event *event)
{
	uint8_t count = record->word[2] & COUNT_MASK;

	event->pid = (uint32_t)(record->word[2] >> HV_CALL_PID_SHIFT);
	event->tgid = 0;
	event->flags = (uint8_t)(record->word[2] >> HV_CALL_FLAGS_SHIFT);
	event->preempt_depth = count & 15;
	event->migrate_depth = count >> 4;
	event->lazy_depth = 0;
	memset(event->comm, 0, sizeof(event->comm));
	memcpy(event->comm, HV_COMM_HOST, sizeof(HV_COMM_HOST));
}

/* -- formats ----------------------------------------------------------------------------------- */

/* Parses the text that f_show() in kernel/trace/trace_events.c writes. */

#define FIELDS_MAX 64
#define PRINT_FMT  "print fmt: "
#define FIELD	   "\tfield:"

/* Splits "char prev_comm[16]" into the type "char[16]" and the name. With an array, the type is one
 * byte longer than the text, and overwrites the blank and the name. */
static bool split(char *declaration, struct hv_event_field *ret)
{
	char *blank = strrchr(declaration, ' '), *array, *end;
	char number[16] = "";

	if (!blank || blank == declaration)
		return false;
	array = strchr(blank, '[');
	if (array) {
		end = strchr(array, ']');
		if (!end || (size_t)(end + 1 - array) >= sizeof(number))
			return false;
		memcpy(number, array, (size_t)(end + 1 - array));
		*array = '\0';
		ret->len = atoi(number + 1);
	}
	/* The text owns both. "TYPE\0NAME\0" has no room for the array, so the name moves to the
	 * end. */
	if (array) {
		size_t len_name = strlen(blank + 1), len_array = strlen(number);

		memmove(blank + len_array + 1, blank + 1, len_name + 1);
		memcpy(blank, number, len_array);
		blank[len_array] = '\0';
		ret->name = blank + len_array + 1;
	} else {
		*blank = '\0';
		ret->name = blank + 1;
	}
	ret->type = declaration;
	return true;
}

/* LINE is "\tfield:TYPE NAME;\toffset:8;\tsize:4;\tsigned:0;" */
static bool parse_field(char *line, struct hv_event_field *ret)
{
	char *end = strchr(line, ';');
	unsigned is_signed = 0;

	*ret = (struct hv_event_field){0};
	if (!end || sscanf(end, ";\toffset:%" SCNu32 ";\tsize:%" SCNu32 ";\tsigned:%u", &ret->off,
			   &ret->size_bytes, &is_signed) != 3)
		return false;
	*end = '\0';
	ret->is_signed = is_signed != 0;
	return split(line + strlen(FIELD), ret);
}

/* All entries begin with the same fields. */
static bool is_common(const struct hv_event_field *field)
{
	return hv_starts_with(field->name, "common_");
}

static bool parse_line(struct hv_host_format *f, char *line)
{
	struct hv_event_field field;

	if (sscanf(line, "ID: %" SCNu32, &f->id) == 1)
		return true;
	if (hv_starts_with(line, PRINT_FMT)) {
		f->print_fmt = line + strlen(PRINT_FMT);
		return true;
	}
	if (!hv_starts_with(line, FIELD))
		return true;
	if (!parse_field(line, &field))
		return false;
	if (is_common(&field))
		return field.off + field.size_bytes <= HV_ENTRY_HEADER_LEN;
	if (f->fields.nr == FIELDS_MAX || field.off < HV_ENTRY_HEADER_LEN)
		return false;
	f->fields.list[f->fields.nr++] = field;
	return true;
}

bool hv_host_format_parse(const char *text, struct hv_host_format *ret)
{
	struct hv_host_format f = {.text = hv_strdup(text)};
	bool good = true;

	f.fields.list = hv_alloc(FIELDS_MAX * sizeof(*f.fields.list));
	for (char *line = f.text, *end; good && line && *line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		good = parse_line(&f, line);
	}
	if (!good || !f.id || !f.fields.nr || !f.print_fmt) {
		hv_host_format_deinit(&f);
		return false;
	}
	*ret = f;
	return true;
}

void hv_host_format_deinit(struct hv_host_format *f)
{
	free(f->fields.list);
	free(f->text);
	*f = (struct hv_host_format){0};
}

uint32_t hv_host_format_u32(const struct hv_host_format *f, const char *name)
{
	for (size_t i = 0; i < f->fields.nr; i++)
		if (strcmp(f->fields.list[i].name, name) == 0)
			return f->fields.list[i].size_bytes == sizeof(uint32_t)
				       ? f->fields.list[i].off
				       : 0;
	return 0;
}

/* -- pages ------------------------------------------------------------------------------------- */

/* Follows kernel/trace/ring_buffer.c: struct buffer_data_page, struct ring_buffer_event. */

#define HEAD_BYTES    16
#define COMMIT_MASK   0x3fffffff
#define MISSED_EVENTS 0x80000000 /* RB_MISSED_EVENTS */
#define MISSED_STORED 0x40000000 /* RB_MISSED_STORED: the number follows the entries */

#define TYPE_BITS    5
#define DELTA_BITS   27
#define ABSOLUTE_MAX ((UINT64_C(1) << 59) - 1) /* an absolute time lacks the bits of TS_MSB */

enum { TYPE_LONG = 0, TYPE_PADDING = 29, TYPE_EXTEND = 30, TYPE_ABSOLUTE = 31 };

bool hv_host_page_begin(struct hv_span bytes, struct hv_host_page *ret)
{
	struct hv_host_page p = {.at = HEAD_BYTES};
	uint32_t commit;
	size_t len;

	if (!hv_span_u64(bytes, 0, &p.ticks) || !hv_span_u32(bytes, 8, &commit))
		return false;
	len = HEAD_BYTES + (size_t)(commit & COMMIT_MASK);
	if (!hv_span_has(bytes, 0, len))
		return false;
	if (commit & MISSED_EVENTS) {
		p.nr_lost = 1;
		if (commit & MISSED_STORED)
			hv_span_u64(bytes, len, &p.nr_lost);
	}
	p.data = (struct hv_span){bytes.data, len};
	*ret = p;
	return true;
}

/* Reads one element: an entry, whose payload is then *RET, or an element that precedes entries.
 * Returns false if it is invalid. */
static bool read_one(struct hv_host_page *p, struct hv_span *ret)
{
	uint32_t head, more = 0;
	uint64_t delta;
	size_t len;

	*ret = (struct hv_span){0};
	if (!hv_span_u32(p->data, p->at, &head))
		return false;
	p->at += sizeof(head);
	delta = head >> TYPE_BITS;
	head &= (1u << TYPE_BITS) - 1;
	len = head * sizeof(uint32_t);
	if (head == TYPE_LONG || head >= TYPE_PADDING) {
		if ((head == TYPE_PADDING && !delta) || !hv_span_u32(p->data, p->at, &more))
			return false;
		p->at += sizeof(more);
		len = more >= sizeof(more) ? more - sizeof(more) : 0;
	}
	if (head == TYPE_ABSOLUTE) {
		p->ticks = (p->ticks & ~ABSOLUTE_MAX) | ((uint64_t)more << DELTA_BITS) | delta;
		return true;
	}
	p->ticks += delta;
	if (head == TYPE_EXTEND) {
		p->ticks += (uint64_t)more << DELTA_BITS;
		return true;
	}
	if (!hv_span_has(p->data, p->at, len))
		return false;
	if (head != TYPE_PADDING)
		*ret = (struct hv_span){p->data.data + p->at, len};
	p->at += len;
	return true;
}

bool hv_host_page_next(struct hv_host_page *p, struct hv_span *ret_entry)
{
	while (read_one(p, ret_entry))
		if (ret_entry->data)
			return true;
	p->at = p->data.len_bytes;
	return false;
}
