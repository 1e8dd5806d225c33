/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds fields in the text of an event's file "format", and their values in the event's entry. Both
 * come from the service and can contain anything. Pure. */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"

struct format_field {
	uint32_t off, len_bytes; /* of a number: 1, 2, 4 or 8 */
};

/* Finds the event's number. */
bool format_id(const char *text, uint16_t *ret);
/* Finds the field NAME. Returns false if no number has that name. */
bool format_field(const char *text, const char *name, struct format_field *ret);
/* Returns false if the field is not entirely in ENTRY. */
bool format_value(const struct format_field *f, struct hv_span entry, uint64_t *ret);
