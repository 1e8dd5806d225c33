/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text of guest events, "NAME: TEXT", as in the guest's own trace. A type's print_fmt is
 * compiled when its first event is shown, and again after modules were loaded or removed.
 * format.h prints the start of the line, print_fmt/ evaluates print_fmts,
 * kernel/events/catalogue.h has the types. */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/settings/options.h"

struct hv_event_type;
struct hv_event_types;
struct hv_event_texts;
struct hv_kernel;

/* Borrows K and TYPES. Reads nothing yet. */
struct hv_event_texts *hv_event_texts_new(const struct hv_kernel *k,
					  struct hv_event_types *types) hv_must_use;
void hv_event_texts_free(struct hv_event_texts *t);

/* Returns type ID, borrowed until modules are loaded or removed, or NULL. T may be NULL: no type is
 * known. */
const struct hv_event_type *hv_event_texts_type(struct hv_event_texts *t, uint16_t id);
/* Adds the text of E, an HV_EVENT_GUESTS, without a newline. T may be NULL: no type is known. */
void hv_event_texts_add(struct hv_event_texts *t, struct hv_text *out,
			const struct hv_options *options, const struct hv_event *e);
