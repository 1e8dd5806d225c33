/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/probe_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "kernel/events/catalogue.h"
#include "tree/format/print_fmt/print_fmt.h"
#include "tree/settings/field_form.h"
#include "tree/settings/hist/synth.h"

/* -- probe events ------------------------------------------------------------------------------ */

#define LOC_LEN_SHIFT 16 /* __data_loc */
#define LOC_OFF_MASK  0xffff
#define LOC_BYTES     4

enum form { UNSIGNED, SIGNED, HEX, LETTER, SYMBOL, STRING };

/* The formats of types in a print_fmt. None is a prefix of a later one. */
static const struct {
	const char *format;
	enum form form;
} formats[] = {
	{"\\\"%s\\\"", STRING}, {"0x%Lx", HEX},	  {"0x%x", HEX},
	{"'%c'", LETTER},	{"%pS", SYMBOL},  {"%Lu", UNSIGNED},
	{"%Ld", SIGNED},	{"%u", UNSIGNED}, {"%d", SIGNED},
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

void hv_probe_text_symbol(struct hv_text *out, uint64_t addr, const struct hv_print_resolver *r)
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
		hv_probe_text_symbol(out, value, r);
	}
}

static void add_element(struct hv_text *out, enum form form, struct hv_span entry, uint32_t off,
			uint32_t len, const struct hv_print_resolver *r)
{
	uint64_t value = 0;

	hv_span_copy(entry, off, &value, len);
	if (form == STRING)
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

size_t hv_probe_text_places(const struct hv_event_type *type)
{
	if (type->probed)
		return 0;
	return strcmp(type->fields.list[0].name, "__probe_func") == 0 ? 2 : 1;
}

void hv_probe_text_add(struct hv_text *out, const struct hv_event_type *type, struct hv_span entry,
		       const struct hv_print_resolver *resolver)
{
	const char *at = type->probed ? type->print_fmt : strchr(type->print_fmt, ')');

	for (size_t i = hv_probe_text_places(type); at && i < type->fields.nr; i++) {
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
		hv_probe_text_symbol(out, addr, resolver);
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
