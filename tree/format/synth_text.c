/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/synth_text.h"

#include <inttypes.h>
#include <string.h>

#include "tree/format/probe_text.h"
#include "tree/settings/field_form.h"
#include "tree/settings/synth.h"

#define LOC_LEN_SHIFT 16 /* __data_loc */
#define LOC_OFF_MASK  0xffff
#define WORD	      8u

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

static void add_number(struct hv_text *out, const struct hv_event_field *f, const char *format,
		       struct hv_span entry)
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
			add_number(out, f, format, entry);
	}
}
