/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers of sections (preemptoff, ...) of the top instance: they trace no function.
 * Leaves to others: what the guest does (tracer/section_tracer.h), the text (tree/format/). */
#pragma once

#include "tree/instance/instance.h"

/* Returns whether IN can have TRACER, which measures sections. */
bool hv_sections_exist(const struct hv_instance *in, enum hv_tracer tracer);
/* Returns whether IN has such a tracer. */
bool hv_sections_are_on(const struct hv_instance *in);

/* Begins with TRACER: sets options as the kernel's tracer does, and forgets what was measured
 * before. IN's tracer must be nop. EINVAL: IN is not the top. EOPNOTSUPP: see
 * hv_section_tracer_start(). */
struct hv_err *hv_sections_begin(struct hv_instance *in, enum hv_tracer tracer) hv_must_use;
/* Ends it, and sets the options back. The tracer is nop then. */
struct hv_err *hv_sections_end(struct hv_instance *in) hv_must_use;

/* To be called when modules may have come or gone. When the tracer cannot go on, it is nop. */
void hv_sections_renew(struct hv_instances *all);
/* To be called when tracing_thresh was changed. */
void hv_sections_use_thresh(struct hv_instances *all);
