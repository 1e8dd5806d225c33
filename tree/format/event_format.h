/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contents of the tracefs file `format` of an event type, and the types of tracers. Control
 * characters in the guest's strings are replaced. kernel/events/catalogue.h has the types;
 * tree/files/event.c has the file. */
#pragma once

#include "base/text.h"
#include "kernel/events/catalogue.h"

/* TYPE is in catalogue C and has_fields is true. MORE are NR_MORE additional fields after those
 * of TYPE. */
void hv_event_format_add(struct hv_text *out, const struct hv_catalogue *c,
			 const struct hv_event_type *type, const struct hv_event_field *more,
			 size_t nr_more);

/* -- types of tracers -------------------------------------------------------------------------- */

/* Built-in event types of tracers, for guests without a readable catalogue: the events that
 * trace_pipe_raw contains (raw_page.h), with the layout of Linux 6.1. */

/* Never NULL. Static. */
const struct hv_catalogue *hv_tracer_types(void);
