/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lib/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "export/field_values.h"

#define OFF_MAX	      65536
#define PREEMPT_MASK  15
#define MIGRATE_SHIFT 4

bool format_next_line(const char **text, char ret[FORMAT_LINE_MAX])
{
	size_t len = strcspn(*text, "\n");
	size_t kept = len < FORMAT_LINE_MAX ? len : FORMAT_LINE_MAX - 1;

	if (!**text)
		return false;
	memcpy(ret, *text, kept);
	ret[kept] = '\0';
	*text += len + ((*text)[len] == '\n');
	return true;
}

bool format_id(const char *text, uint16_t *ret)
{
	char line[FORMAT_LINE_MAX];

	while (format_next_line(&text, line))
		if (sscanf(line, "ID: %" SCNu16, ret) == 1)
			return true;
	return false;
}

static bool is_field(const char *line, const char *name, struct format_field *ret)
{
	struct hv_field_line f;

	if (!hv_field_line_parse(line, &f) || f.array.len || f.name.len != strlen(name) ||
	    memcmp(f.name.text, name, f.name.len) != 0 || f.off > OFF_MAX ||
	    (f.size_bytes != 1 && f.size_bytes != 2 && f.size_bytes != 4 && f.size_bytes != 8))
		return false;
	*ret = (struct format_field){f.off, f.size_bytes};
	return true;
}

bool format_field(const char *text, const char *name, struct format_field *ret)
{
	char line[FORMAT_LINE_MAX];

	while (format_next_line(&text, line))
		if (is_field(line, name, ret))
			return true;
	return false;
}

bool format_value(const struct format_field *f, struct hv_span entry, uint64_t *ret)
{
	uint64_t value = 0;

	if (!hv_span_copy(entry, f->off, &value, f->len_bytes))
		return false;
	*ret = value;
	return true;
}

bool format_record(const char *text, const struct format_number *numbers, struct record_format *ret)
{
	*ret = (struct record_format){0};
	if (!format_id(text, &ret->id) || !format_field(text, "common_pid", &ret->pid) ||
	    !format_field(text, "common_flags", &ret->flags) ||
	    !format_field(text, "common_preempt_count", &ret->preempt_count))
		return false;
	for (unsigned i = 0; numbers && i < RECORD_NUMBERS_MAX && numbers[i].name; i++)
		if (!format_field(text, numbers[i].name, &ret->numbers[i]) &&
		    !numbers[i].is_optional)
			return false;
	return true;
}

bool format_decode(const struct record_format *f, struct hv_span payload,
		   struct record_context *ret, uint64_t ret_numbers[RECORD_NUMBERS_MAX])
{
	uint64_t pid, flags, preempt;
	uint16_t id;

	if (!hv_span_u16(payload, 0, &id) || id != f->id || !format_value(&f->pid, payload, &pid) ||
	    !format_value(&f->flags, payload, &flags) ||
	    !format_value(&f->preempt_count, payload, &preempt))
		return false;
	*ret = (struct record_context){
		.pid = (uint32_t)pid,
		.flags = (uint32_t)flags,
		.preempt_depth = preempt & PREEMPT_MASK,
		.migrate_depth = preempt >> MIGRATE_SHIFT & PREEMPT_MASK,
	};
	for (unsigned i = 0; i < RECORD_NUMBERS_MAX; i++)
		if (!format_value(&f->numbers[i], payload, &ret_numbers[i]))
			return false;
	return true;
}
