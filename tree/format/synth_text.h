/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of a synthetic event, which the kernel prints without its print_fmt (print_synth_event).
 * Flag names of a gfp_t are omitted. The caller prints the event's name. Pure. */
#pragma once

#include "base/bytes.h"
#include "base/text.h"
#include "kernel/events/catalogue.h"

struct hv_print_resolver;

enum hv_synth_style { HV_SYNTH_PLAIN, HV_SYNTH_WITH_FORMATS /* the option verbose */ };

/* Adds the fields of ENTRY, an event of TYPE. */
void hv_synth_text_add(struct hv_text *out, const struct hv_event_type *type, struct hv_span entry,
		       enum hv_synth_style style, const struct hv_print_resolver *resolver);
