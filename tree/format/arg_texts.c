/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/arg_texts.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "kernel/events/catalogue.h"
#include "tree/format/print_fmt/print_fmt.h"
#include "tree/settings/event_set.h"
#include "tree/settings/hist/synth.h"

/* -- system calls ------------------------------------------------------------------------------ */

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

static void add_syscall_number(struct hv_text *out, const struct hv_syscall_style *style,
			       uint64_t number)
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
	add_syscall_number(out, style, number);
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

/* -- probe events ------------------------------------------------------------------------------ */

#define LOC_LEN_SHIFT 16 /* __data_loc */
#define LOC_OFF_MASK  0xffff

enum form { UNSIGNED, SIGNED, HEX, LETTER, SYMBOL, STRING, WORDS };

/* The formats of types in a print_fmt. None is a prefix of a later one. */
static const struct {
	const char *format;
	enum form form;
} formats[] = {
	{"\\\"%s\\\"", STRING}, {"0x%Lx", HEX},	   {"0x%x", HEX},   {"'%c'", LETTER},
	{"%pS", SYMBOL},	{"%Lu", UNSIGNED}, {"%Ld", SIGNED}, {"%u", UNSIGNED},
	{"%d", SIGNED},		{"%s", WORDS},
};

/* Replaces control characters other than newline and tab by '?'. */
static void add_letters(struct hv_text *out, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		char c = (char)bytes[i];

		if (iscntrl(bytes[i]) && c != '\n' && c != '\t')
			c = '?';
		hv_text_add_bytes(out, &c, 1);
	}
}

/* Adds the symbol of ADDR, as with %pS. */
static void probe_text_symbol(struct hv_text *out, uint64_t addr, const struct hv_print_resolver *r)
{
	struct hv_print_symbol s;

	if (!r->symbol || !r->symbol(r->of, hv_gva(addr), &s)) {
		hv_text_printf(out, "0x%" PRIx64, addr);
		return;
	}
	hv_text_add_guest(out, s.name, SIZE_MAX);
	hv_text_printf(out, "+0x%" PRIx64 "/0x%" PRIx64, s.offset, s.size_bytes);
	if (s.module) {
		hv_text_add(out, " [");
		hv_text_add_guest(out, s.module, SIZE_MAX);
		hv_text_add(out, "]");
	}
}

static void add_string(struct hv_text *out, struct hv_span entry, uint32_t loc)
{
	uint32_t len = loc >> LOC_LEN_SHIFT, off = loc & LOC_OFF_MASK;

	if (!len || !hv_span_has(entry, off, len)) {
		hv_text_add(out, "(fault)");
		return;
	}
	hv_text_add(out, "\"");
	add_letters(out, entry.data + off, strnlen((const char *)entry.data + off, len));
	hv_text_add(out, "\"");
}

/* The words of a stack, as with __print_array(). */
static void add_words(struct hv_text *out, struct hv_span entry, uint32_t loc)
{
	uint32_t len = loc >> LOC_LEN_SHIFT, off = loc & LOC_OFF_MASK;
	uint64_t word;

	hv_text_add(out, "{");
	for (uint32_t at = 0; at + sizeof(word) <= len && hv_span_u64(entry, off + at, &word);
	     at += sizeof(word))
		hv_text_printf(out, "%s0x%" PRIx64, at ? "," : "", word);
	hv_text_add(out, "}");
}

/* VALUE has LEN bytes. */
static void add_number(struct hv_text *out, enum form form, uint64_t value, uint32_t len,
		       const struct hv_print_resolver *r)
{
	unsigned unused_bits = 64 - 8 * len;
	const uint8_t letter = (uint8_t)value;

	switch (form) {
	case UNSIGNED:
		hv_text_printf(out, "%" PRIu64, value);
		break;
	case SIGNED:
		hv_text_printf(out, "%" PRId64, (int64_t)(value << unused_bits) >> unused_bits);
		break;
	case HEX:
		hv_text_printf(out, "0x%" PRIx64, value);
		break;
	case LETTER:
		hv_text_add(out, "'");
		add_letters(out, &letter, 1);
		hv_text_add(out, "'");
		break;
	default:
		probe_text_symbol(out, value, r);
	}
}

static void add_element(struct hv_text *out, enum form form, struct hv_span entry, uint32_t off,
			uint32_t len, const struct hv_print_resolver *r)
{
	uint64_t value = 0;

	hv_span_copy(entry, off, &value, len);
	if (form == WORDS)
		add_words(out, entry, (uint32_t)value);
	else if (form == STRING)
		add_string(out, entry, (uint32_t)value);
	else
		add_number(out, form, value, len, r);
}

/* Returns the number of elements of the array FIELD, or 0 if it is not an array. */
static unsigned count_of(const struct hv_event_field *field)
{
	const char *type = field->type, *bracket;
	unsigned count = 0;

	if (hv_starts_with(type, "__data_loc char[]"))
		type += 17;
	bracket = strchr(type, '[');
	for (const char *c = bracket ? bracket + 1 : ""; isdigit((unsigned char)*c); c++)
		count = count * 10 + (unsigned)(*c - '0');
	return count;
}

/* Finds the form of FIELD and advances *AT beyond it in the print_fmt. */
static bool find_form(const char **at, const struct hv_event_field *field, enum form *ret)
{
	const char *c = strstr(*at, field->name);

	if (!c)
		return false;
	c += strlen(field->name);
	c += strspn(c, "={");
	for (size_t i = 0; i < HV_ARRAY_LEN(formats); i++) {
		if (!hv_starts_with(c, formats[i].format))
			continue;
		*at = c;
		*ret = formats[i].form;
		return true;
	}
	return false;
}

size_t hv_probe_text_nr_addresses(const struct hv_event_type *type)
{
	if (type->probed)
		return 0;
	return strcmp(type->fields.list[0].name, "__probe_func") == 0 ? 2 : 1;
}

void hv_probe_text_add(struct hv_text *out, const struct hv_event_type *type, struct hv_span entry,
		       const struct hv_print_resolver *resolver)
{
	const char *at = type->probed ? type->print_fmt : strchr(type->print_fmt, ')');

	for (size_t i = hv_probe_text_nr_addresses(type); at && i < type->fields.nr; i++) {
		const struct hv_event_field *field = &type->fields.list[i];
		unsigned count = count_of(field), nr = count ? count : 1;
		enum form form;

		if (!find_form(&at, field, &form) || field->size_bytes / nr > sizeof(uint64_t))
			return;
		hv_text_add(out, " ");
		hv_text_add_guest(out, field->name, SIZE_MAX);
		hv_text_add(out, count ? "={" : "=");
		for (unsigned n = 0; n < nr; n++) {
			hv_text_add(out, n ? "," : "");
			add_element(out, form, entry, field->off + n * (field->size_bytes / nr),
				    field->size_bytes / nr, resolver);
		}
		hv_text_add(out, count ? "}" : "");
	}
}

/* -- synthetic events -------------------------------------------------------------------------- */

#define WORD 8u

static void add_text(struct hv_text *out, const struct hv_event_field *f, struct hv_span entry)
{
	uint32_t off = f->off, len = HV_HIST_TEXT_BYTES, loc;

	if (hv_field_form_of(f->type) == HV_FIELD_DYNAMIC) {
		if (!hv_span_u32(entry, f->off, &loc))
			return;
		off = loc & LOC_OFF_MASK;
		len = loc >> LOC_LEN_SHIFT;
	}
	if (hv_span_has(entry, off, len))
		hv_text_add_guest(out, (const char *)entry.data + off, len);
}

/* Adds a line for each address; the first word is their number. */
static void add_stack(struct hv_text *out, const struct hv_event_field *f, struct hv_span entry,
		      const struct hv_print_resolver *resolver)
{
	uint32_t loc;
	uint64_t addr;

	hv_text_add(out, "STACK:\n");
	if (!hv_span_u32(entry, f->off, &loc))
		return;
	for (uint32_t at = WORD; at + WORD <= loc >> LOC_LEN_SHIFT; at += WORD) {
		if (!hv_span_u64(entry, (loc & LOC_OFF_MASK) + at, &addr))
			return;
		hv_text_add(out, "=> ");
		probe_text_symbol(out, addr, resolver);
		hv_text_add(out, "\n");
	}
}

static void add_synth_number(struct hv_text *out, const struct hv_event_field *f,
			     const char *format, struct hv_span entry)
{
	unsigned unused_bits = 64 - 8 * f->size_bytes;
	uint64_t value = 0;

	hv_span_copy(entry, f->off, &value, f->size_bytes);
	switch (format[strlen(format) - 1]) {
	case 'x':
		hv_text_printf(out, "%" PRIx64, value);
		return;
	case 'd':
		/* The kernel passes numbers smaller than int as unsigned. */
		if (f->size_bytes >= sizeof(int))
			value = (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
		hv_text_printf(out, "%" PRId64, (int64_t)value);
		return;
	default:
		hv_text_printf(out, "%" PRIu64, value);
	}
}

void hv_synth_text_add(struct hv_text *out, const struct hv_event_type *type, struct hv_span entry,
		       enum hv_synth_style style, const struct hv_print_resolver *resolver)
{
	bool is_behind_stack = false;

	for (size_t i = 0; i < type->fields.nr; i++) {
		const struct hv_event_field *f = &type->fields.list[i];
		bool is_stack = hv_synth_is_stack_type(f->type);
		bool is_text = hv_field_form_of(f->type) != HV_FIELD_NUMBER;
		const char *format = is_stack  ? "%s"
				     : is_text ? "%.*s"
					       : hv_synth_number_format(f->type);

		hv_text_add(out, i && !is_behind_stack ? " " : "");
		is_behind_stack = is_stack;
		if (style == HV_SYNTH_WITH_FORMATS)
			hv_text_printf(out, "%s ", format);
		hv_text_printf(out, "%s=", f->name);
		if (is_stack)
			add_stack(out, f, entry, resolver);
		else if (is_text)
			add_text(out, f, entry);
		else
			add_synth_number(out, f, format, entry);
	}
}
