/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Restricts an event format to fields that are inside the record. libtraceevent trusts the format
 * and reads fields without checking the length of the record. */
#pragma once

#include <stddef.h>

#include "base/text.h"
#include "export/export.h"

/* Adds FORMAT to OUT without malformed field lines and without fields that are not entirely in the
 * first MAX_BYTES of a record. Keeps the text before and after the fields. */
void hv_format_fields_add(struct hv_text *out, struct hv_export_text format, size_t max_bytes);
