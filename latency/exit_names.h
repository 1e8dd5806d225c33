/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of exit reasons, such as "cpuid" or "IO_INSTRUCTION". They come from the text of the host
 * kernel's kvm_exit event, so hvtrace needs no table. */
#pragma once

#include "base/text.h"
#include "kernel/events/catalogue.h"
#include "tracer/events/event.h"

struct hv_exit_names;

/* C is borrowed. It may lack the event. */
struct hv_exit_names *hv_exit_names_new(const struct hv_catalogue *c);
void hv_exit_names_free(struct hv_exit_names *n);
/* Adds the name of the reason of the kvm_exit event E, or its number if it has no name. */
void hv_exit_names_add(const struct hv_exit_names *n, const struct hv_event *e, uint64_t reason,
		       struct hv_text *out);
