/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/syscall.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENTER	    "sys_enter_"
#define EXIT	    "sys_exit_"
#define DECIMAL_MAX 9 /* the greatest number that 7.2 prints without 0x */
#define NAME_MAX    64

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static void add_name(struct hv_text *out, const char *event, const char *prefix)
{
	hv_text_add(out, "sys_");
	hv_text_add_guest(out, event + strlen(prefix), strlen(event + strlen(prefix)));
}

static const struct hv_print_field *find_field(const struct hv_syscall_event *event,
					       const char *name)
{
	for (size_t i = 0; i < event->nr_fields; i++)
		if (strcmp(event->fields[i].name, name) == 0)
			return &event->fields[i];
	return NULL;
}

/* Fields with bytes of user space are behind the arguments. */
static bool is_argument(const struct hv_print_field *field)
{
	return !begins_with(field->name, "common_") && strcmp(field->name, "__syscall_nr") != 0 &&
	       !begins_with(field->type, "__data_loc");
}

static void add_number(struct hv_text *out, const struct hv_syscall_style *style, uint64_t number)
{
	if (style->numbers == HV_SYSCALL_NUMBERS_HEX)
		hv_text_printf(out, "%" PRIx64, number);
	else if (number <= DECIMAL_MAX)
		hv_text_printf(out, "%" PRIu64, number);
	else
		hv_text_printf(out, "0x%" PRIx64, number);
}

/* The string that the argument points to, if it was recorded: its field is __NAME_val. */
static bool add_string(struct hv_text *out, const struct hv_syscall_event *event,
		       const struct hv_print_field *argument, struct hv_span entry)
{
	char name[NAME_MAX], call[NAME_MAX + 16];
	const struct hv_print_field *field;
	uint32_t word;

	snprintf(name, sizeof(name), "__%s_val", argument->name);
	snprintf(call, sizeof(call), "__get_str(%s)", name);
	field = find_field(event, name);
	if (!field)
		return true;
	if (!strstr(event->print_fmt, call) || !hv_span_u32(entry, field->offset_bytes, &word) ||
	    !hv_span_has(entry, word & 0xffff, word >> 16))
		return false;
	hv_text_add(out, " \"");
	hv_text_add_guest(out, (const char *)entry.data + (word & 0xffff), word >> 16);
	hv_text_add(out, "\"");
	return true;
}

static bool add_argument(struct hv_text *out, const struct hv_syscall_style *style,
			 const struct hv_syscall_event *event, const struct hv_print_field *field,
			 struct hv_span entry)
{
	uint64_t number;

	if (field->size_bytes != sizeof(number) ||
	    !hv_span_u64(entry, field->offset_bytes, &number))
		return false;
	if (style->has_types) {
		hv_text_add_guest(out, field->type, strlen(field->type));
		hv_text_add(out, " ");
	}
	hv_text_add_guest(out, field->name, strlen(field->name));
	hv_text_add(out, ": ");
	add_number(out, style, number);
	return add_string(out, event, field, entry);
}

static bool add_enter(struct hv_text *out, const struct hv_syscall_style *style,
		      const struct hv_syscall_event *event, struct hv_span entry)
{
	const char *between = "";

	if (strstr(event->print_fmt, "__print_flags("))
		return false;
	add_name(out, event->name, ENTER);
	hv_text_add(out, "(");
	for (size_t i = 0; i < event->nr_fields; i++) {
		if (!is_argument(&event->fields[i]))
			continue;
		hv_text_add(out, between);
		between = ", ";
		if (!add_argument(out, style, event, &event->fields[i], entry))
			return false;
	}
	hv_text_add(out, ")");
	return true;
}

static bool add_exit(struct hv_text *out, const struct hv_syscall_event *event,
		     struct hv_span entry)
{
	const struct hv_print_field *field = find_field(event, "ret");
	uint64_t number;

	if (!field || !hv_span_u64(entry, field->offset_bytes, &number))
		return false;
	add_name(out, event->name, EXIT);
	hv_text_printf(out, " -> 0x%" PRIx64, number);
	return true;
}

bool hv_format_syscall(struct hv_text *out, const struct hv_syscall_style *style,
		       const struct hv_syscall_event *event, struct hv_span entry)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	bool is_known = false;

	if (begins_with(event->name, ENTER))
		is_known = add_enter(&text, style, event, entry);
	else if (begins_with(event->name, EXIT))
		is_known = add_exit(&text, event, entry);
	if (is_known)
		hv_text_add_bytes(out, text.data, text.len_bytes);
	return is_known;
}
