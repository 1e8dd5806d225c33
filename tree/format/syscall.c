/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/syscall.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/prefix.h"

#define ENTER	    "sys_enter_"
#define EXIT	    "sys_exit_"
#define DECIMAL_MAX 9 /* larger numbers have 0x in 7.2 */
#define NAME_MAX    64

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

/* Fields with user-space bytes follow the arguments. */
static bool is_argument(const struct hv_print_field *field)
{
	return !hv_starts_with(field->name, "common_") &&
	       strcmp(field->name, "__syscall_nr") != 0 &&
	       !hv_starts_with(field->type, "__data_loc");
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

/* Returns the value of the size argument; 0: there is none. */
static uint64_t find_size(const struct hv_syscall_event *event, struct hv_span entry)
{
	int arg = event->size_arg;
	uint64_t value = 0;

	if (arg < 0)
		return 0;
	for (size_t i = 0; i < event->nr_fields; i++)
		if (is_argument(&event->fields[i]) && arg-- == 0)
			hv_span_u64(entry, event->fields[i].offset_bytes, &value);
	return value;
}

static bool is_printable(uint8_t c)
{
	return c >= ' ' && c <= '~';
}

/* Adds bytes in hex and as characters. The kernel uses the length as an int. */
static void add_bytes(struct hv_text *out, struct hv_span bytes, uint64_t size)
{
	bool is_cut = (int64_t)bytes.len_bytes < (int32_t)size, any_printable = false;

	hv_text_add(out, " (");
	for (size_t i = 0; i < bytes.len_bytes; i++) {
		any_printable = any_printable || is_printable(bytes.data[i]);
		hv_text_printf(out, "%s%02x", i ? ":" : "", bytes.data[i]);
	}
	hv_text_add(out, is_cut ? ", ...)" : ")");
	if (!any_printable)
		return;
	hv_text_add(out, " \"");
	for (size_t i = 0; i < bytes.len_bytes; i++)
		hv_text_printf(out, "%c", is_printable(bytes.data[i]) ? bytes.data[i] : '.');
	hv_text_add(out, is_cut ? "\"..." : "\"");
}

/* Adds the memory that the argument points to, from field __NAME_val, if it was recorded. */
static bool add_memory(struct hv_text *out, const struct hv_syscall_event *event,
		       const struct hv_print_field *argument, struct hv_span entry)
{
	char name[NAME_MAX], call[NAME_MAX + 32];
	const struct hv_print_field *field;
	struct hv_span bytes;
	uint32_t word;

	snprintf(name, sizeof(name), "__%s_val", argument->name);
	field = find_field(event, name);
	if (!field)
		return true;
	if (!hv_span_u32(entry, field->offset_bytes, &word) ||
	    !hv_span_has(entry, word & 0xffff, word >> 16))
		return false;
	bytes = (struct hv_span){entry.data + (word & 0xffff), word >> 16};
	snprintf(call, sizeof(call), "__print_dynamic_array(%s, 1)", name);
	if (strstr(event->print_fmt, call)) {
		add_bytes(out, bytes, find_size(event, entry));
		return true;
	}
	snprintf(call, sizeof(call), "__get_str(%s)", name);
	if (!strstr(event->print_fmt, call))
		return false;
	hv_text_add(out, " \"");
	hv_text_add_guest(out, (const char *)bytes.data, bytes.len_bytes);
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
	return add_memory(out, event, field, entry);
}

/* The flags of open() with the kernel's names, as on most architectures. */
#define ACCESS	  3u
#define CREATES	  0100u
#define TEMPORARY 020200000u

static const struct {
	uint64_t bits;
	const char *name;
} open_flags[] = {
	{TEMPORARY, "O_TMPFILE"}, {01, "O_WRONLY"},	    {02, "O_RDWR"},
	{CREATES, "O_CREAT"},	  {0200, "O_EXCL"},	    {0400, "O_NOCTTY"},
	{01000, "O_TRUNC"},	  {02000, "O_APPEND"},	    {04000, "O_NONBLOCK"},
	{010000, "O_DSYNC"},	  {0100000, "O_LARGEFILE"}, {0200000, "O_DIRECTORY"},
	{0400000, "O_NOFOLLOW"},  {01000000, "O_NOATIME"},  {02000000, "O_CLOEXEC"},
};

/* trace_print_flags_seq() */
static void add_flags(struct hv_text *out, uint64_t flags)
{
	const char *between = "";

	if (!(flags & ACCESS)) {
		hv_text_add(out, flags ? "O_RDONLY|" : "O_RDONLY");
		if (!flags)
			return;
	}
	for (size_t i = 0; i < HV_ARRAY_LEN(open_flags) && flags; i++) {
		if ((flags & open_flags[i].bits) != open_flags[i].bits)
			continue;
		flags &= ~open_flags[i].bits;
		hv_text_printf(out, "%s%s", between, open_flags[i].name);
		between = "|";
	}
	if (flags)
		hv_text_printf(out, "%s0x%" PRIx64, between, flags);
}

static bool is_open(const struct hv_syscall_event *event)
{
	return strcmp(event->name, ENTER "openat") == 0 &&
	       strstr(event->print_fmt, "__print_flags(");
}

/* sys_enter_openat_print(): shows the mode only if the call may create a file. */
static bool add_open(struct hv_text *out, const struct hv_syscall_event *event,
		     struct hv_span entry)
{
	bool creates = false;
	unsigned nr = 0;

	add_name(out, event->name, ENTER);
	for (size_t i = 0; i < event->nr_fields; i++) {
		const struct hv_print_field *field = &event->fields[i];
		uint64_t number;

		if (!is_argument(field) || (nr == 3 && !creates))
			continue;
		if (field->size_bytes != sizeof(number) ||
		    !hv_span_u64(entry, field->offset_bytes, &number))
			return false;
		hv_text_add(out, nr++ ? ", " : "(");
		hv_text_add_guest(out, field->name, strlen(field->name));
		hv_text_add(out, ": ");
		if (nr == 3) {
			creates = (int32_t)number & (CREATES | TEMPORARY);
			add_flags(out, (uint64_t)(int32_t)number);
		} else if (nr == 4) {
			hv_text_printf(out, "0%03o", (unsigned)number);
		} else {
			hv_text_printf(out, "%" PRIu64, number);
			if (!add_memory(out, event, field, entry))
				return false;
		}
	}
	hv_text_add(out, ")");
	return nr >= 3;
}

static bool add_enter(struct hv_text *out, const struct hv_syscall_style *style,
		      const struct hv_syscall_event *event, struct hv_span entry)
{
	const char *between = "";

	if (is_open(event) && !style->has_types)
		return add_open(out, event, entry);
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

	if (hv_starts_with(event->name, ENTER))
		is_known = add_enter(&text, style, event, entry);
	else if (hv_starts_with(event->name, EXIT))
		is_known = add_exit(&text, event, entry);
	if (is_known)
		hv_text_add_bytes(out, text.data, text.len_bytes);
	return is_known;
}
