/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/synth_text.h"

#include <inttypes.h>
#include <string.h>

#include "tree/settings/field_form.h"
#include "tree/settings/synth.h"

#define LOC_LEN_SHIFT 16 /* __data_loc */
#define LOC_OFF_MASK  0xffff

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
		/* The kernel passes numbers of less than an int as if they had no sign. */
		if (f->size_bytes >= sizeof(int))
			value = (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
		hv_text_printf(out, "%" PRId64, (int64_t)value);
		return;
	default:
		hv_text_printf(out, "%" PRIu64, value);
	}
}

void hv_synth_text_add(struct hv_text *out, const struct hv_event_type *type, struct hv_span entry,
		       enum hv_synth_style style)
{
	for (size_t i = 0; i < type->fields.nr; i++) {
		const struct hv_event_field *f = &type->fields.list[i];
		bool is_text = hv_field_form_of(f->type) != HV_FIELD_NUMBER;
		const char *format = is_text ? "%.*s" : hv_synth_number_format(f->type);

		hv_text_add(out, i ? " " : "");
		if (style == HV_SYNTH_WITH_FORMATS)
			hv_text_printf(out, "%s ", format);
		hv_text_printf(out, "%s=", f->name);
		if (is_text)
			add_text(out, f, entry);
		else
			add_number(out, f, format, entry);
	}
}
