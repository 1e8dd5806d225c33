/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds fields in the text of an event's file "format", and their values in the event's entry. Both
 * come from the service and can contain anything. Pure. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

#define FORMAT_LINE_MAX	   512
#define RECORD_NUMBERS_MAX 6

struct format_field {
	uint32_t off, len_bytes; /* of a number: 1, 2, 4 or 8 */
};

/* Finds the event's number. */
bool format_id(const char *text, uint16_t *ret);
/* Finds the field NAME. Returns false if no number has that name. */
bool format_field(const char *text, const char *name, struct format_field *ret);
/* Returns false if the field is not entirely in ENTRY. */
bool format_value(const struct format_field *f, struct hv_span entry, uint64_t *ret);

/* Copies the line at *TEXT, cut to FORMAT_LINE_MAX, and moves *TEXT to the next one. Returns false
 * at the end. */
bool format_next_line(const char **text, char ret[FORMAT_LINE_MAX]);

/* -- records ---------------------------------------------------------------------------------- */

/* The format of an event's records. */
struct record_format {
	uint16_t id;
	struct format_field pid, flags, preempt_count;
	struct format_field numbers[RECORD_NUMBERS_MAX]; /* len_bytes 0: absent */
};

/* The fields that all records have in common. */
struct record_context {
	uint32_t pid, flags;
	uint8_t preempt_depth, migrate_depth;
};

struct format_number {
	const char *name; /* NULL: the end */
	bool is_optional;
};

/* Finds the fields of TEXT, also those named in NUMBERS, which has RECORD_NUMBERS_MAX elements or
 * is NULL. Returns false if one is missing. */
bool format_record(const char *text, const struct format_number *numbers,
		   struct record_format *ret);
/* Returns false if the record has another id, or is too short. Absent numbers are 0. */
bool format_decode(const struct record_format *f, struct hv_span payload,
		   struct record_context *ret, uint64_t ret_numbers[RECORD_NUMBERS_MAX]);
