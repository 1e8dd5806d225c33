/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The format of an event for readers that believe it: libtraceevent reads a record where its format
 * says that a field is, whatever the length of the record. */
#pragma once

#include <stddef.h>

#include "base/text.h"
#include "export/export.h"

/* Adds FORMAT to OUT, without the lines of its fields that are none, or of fields that are not
 * within the first MAX_BYTES of a record. What stands before the fields and after them stays. */
void hv_format_fields_add(struct hv_text *out, struct hv_export_text format, size_t max_bytes);
