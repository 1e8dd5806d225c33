/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of an entry, one by one, for an entry whose print_fmt cannot be evaluated. The text is
 * that of libtraceevent, which trace-cmd and perf show for such entries:
 *
 *	[FAILED TO PARSE] cmnd=ARRAY[00, 2a] lun=0 name=sda
 *
 * Leaves to others: the text that the kernel itself shows (print_fmt.h). */
#pragma once

#include "base/bytes.h"
#include "base/text.h"
#include "tree/format/print_fmt/print_fmt.h"

/* FIELDS are the fields of the event without the common ones. A field that is not wholly in ENTRY
 * is shown as "?". Control characters become '?'. */
void hv_print_fields(const struct hv_print_field *fields, size_t nr_fields, struct hv_span entry,
		     struct hv_text *out);
