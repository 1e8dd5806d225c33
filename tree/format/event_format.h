/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of the tracefs file `format` of an event type. In the guest's strings, bytes on which a
 * terminal would act are replaced.
 * Leaves to others: which events there are (kernel/events/catalogue.h), files (tree/files/event.c).
 */
#pragma once

#include "base/text.h"
#include "kernel/events/catalogue.h"

/* TYPE is of catalogue C and has_fields is true. MORE is a field behind those of TYPE; NULL: there
 * is none. */
void hv_event_format_add(struct hv_text *out, const struct hv_catalogue *c,
			 const struct hv_event_type *type, const struct hv_event_field *more);
