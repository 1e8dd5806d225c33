/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the text that f_show() in kernel/trace/trace_events.c writes. */
#include "tracer/events/host_format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "ringbuf/record_bits.h"

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
	return strncmp(field->name, "common_", 7) == 0;
}

static bool parse_line(struct hv_host_format *f, char *line)
{
	struct hv_event_field field;

	if (sscanf(line, "ID: %" SCNu32, &f->id) == 1)
		return true;
	if (strncmp(line, PRINT_FMT, strlen(PRINT_FMT)) == 0) {
		f->print_fmt = line + strlen(PRINT_FMT);
		return true;
	}
	if (strncmp(line, FIELD, strlen(FIELD)) != 0)
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
