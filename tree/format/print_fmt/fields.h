/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of an entry one by one, for entries whose print_fmt cannot be evaluated. The text
 * matches libtraceevent, as shown by trace-cmd and perf:
 *
 *	[FAILED TO PARSE] cmnd=ARRAY[00, 2a] lun=0 name=sda
 *
 * print_fmt.h prints the kernel's text. */
#pragma once

#include "base/bytes.h"
#include "base/text.h"
#include "tree/format/print_fmt/print_fmt.h"

/* FIELDS excludes the common fields. A field that extends beyond ENTRY is shown as "?". Control
 * characters become '?'. */
void hv_print_fields(const struct hv_print_field *fields, size_t nr_fields, struct hv_span entry,
		     struct hv_text *out);
