/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of the arguments of a probe's event. The kernel prints them by functions of their types,
 * not by the print_fmt of the event: what could not be read is (fault), and an array has its
 * elements in braces. Only which function prints which field follows from the print_fmt, which is
 * ours (hv_kprobe_print_fmt()). Leaves to others: the address before them (event_texts.h). */
#pragma once

#include <stdbool.h>

#include "base/bytes.h"
#include "base/text.h"

struct hv_event_type;
struct hv_print_resolver;

/* How many fields of TYPE are places: 2 of a return's, none of an event's, 1 of others'. */
size_t hv_probe_text_places(const struct hv_event_type *type);
/* Adds the symbol of ADDR, as %pS shows it. */
void hv_probe_text_symbol(struct hv_text *out, uint64_t addr, const struct hv_print_resolver *r);
/* Adds " NAME=VALUE" for each argument of an event of TYPE. ENTRY is hostile. */
void hv_probe_text_add(struct hv_text *out, const struct hv_event_type *type, struct hv_span entry,
		       const struct hv_print_resolver *resolver);
