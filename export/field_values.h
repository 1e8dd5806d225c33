/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the lines of an event's format, and extracts the values of its fields from entries.
 * Formats and entries can come from a modified file or from a service that a guest has taken over,
 * and can contain anything: a field outside the entry has no value. Pure.
 *
 * tree/format/print_fmt/ formats entries as the guest's own trace does. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "kernel/events/catalogue.h"

/* -- lines of formats ------------------------------------------------------------------------- */

/* A part of a line, borrowed. */
struct hv_line_part {
	const char *text;
	size_t len;
};

/* "field:TYPE NAME[ARRAY];  offset:N;  size:N;  signed:N;" */
struct hv_field_line {
	struct hv_line_part type; /* without ARRAY, unless the field is dynamic */
	struct hv_line_part name;
	struct hv_line_part array; /* with its brackets; empty: the field is no array, or dynamic */
	uint32_t off, size_bytes;
	bool is_signed;
};

/* Returns false if LINE is not the line of a field. */
bool hv_field_line_parse(const char *line, struct hv_field_line *ret);

/* -- values of fields ------------------------------------------------------------------------- */

enum hv_entry_kind {
	HV_ENTRY_NUMBER,
	HV_ENTRY_POINTER,
	HV_ENTRY_STRING, /* without its NUL */
	HV_ENTRY_BYTES,
};

struct hv_entry_value {
	enum hv_entry_kind kind;
	bool is_signed;
	uint64_t number; /* sign-extended */
	struct hv_span bytes;
};

/* Returns the kind of FIELD's values. */
enum hv_entry_kind hv_entry_kind(const struct hv_event_field *field);
/* Returns the size of an element of an array: 1, 2, 4 or 8; 1 if it is unknown. */
unsigned hv_entry_element_bytes(const struct hv_event_field *field);
/* RET borrows ENTRY. Returns false if FIELD is not entirely in ENTRY. */
bool hv_entry_value(const struct hv_event_field *field, struct hv_span entry,
		    struct hv_entry_value *ret);
