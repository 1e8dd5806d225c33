/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of the guest's own events: "NAME: TEXT", as the guest's own trace shows them. Each
 * type's print_fmt is compiled when an event of it is shown first, and again after modules came or
 * went. Leaves to others: what is in a line before that (format.h), evaluating print_fmts
 * (print_fmt/), which events there are (kernel/events/catalogue.h). */
#pragma once

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/settings/options.h"

struct hv_event_type;
struct hv_event_types;
struct hv_event_texts;
struct hv_kernel;

/* Reads nothing yet. Borrows K and TYPES. */
struct hv_event_texts *hv_event_texts_new(const struct hv_kernel *k,
					  struct hv_event_types *types) hv_must_use;
void hv_event_texts_free(struct hv_event_texts *t);

/* The type ID, borrowed until modules come or go. T NULL: no type is known. NULL: there is none. */
const struct hv_event_type *hv_event_texts_type(struct hv_event_texts *t, uint16_t id);
/* Adds the text of E, an HV_EVENT_GUESTS, without a newline at its end. T NULL: no type is known.
 */
void hv_event_texts_add(struct hv_event_texts *t, struct hv_text *out,
			const struct hv_options *options, const struct hv_event *e);
