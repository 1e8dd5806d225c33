/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers of sections (preemptoff, ...) of an instance: they measure sections, and with the
 * option function-trace they trace the functions in them. One instance at a time has one.
 * Leaves to others: what the guest does (tracer/section_tracer.h), which sites call (sites.h), the
 * text (tree/format/). */
#pragma once

#include "tree/instance/core/instance.h"

/* Returns whether IN has such a tracer. */
bool hv_sections_are_on(const struct hv_instance *in);

extern const struct hv_part hv_sections_part;

/* They set options as the kernel's tracers do, and back at the end, and forget what was measured
 * before. Begin: EBUSY: another instance has such a tracer; EOPNOTSUPP: see
 * hv_section_tracer_start(). */
extern const struct hv_tracer_ops hv_tracer_preemptoff;
extern const struct hv_tracer_ops hv_tracer_irqsoff;
extern const struct hv_tracer_ops hv_tracer_preemptirqsoff;

/* Returns whether IN shows a record of this kind and depth among the calls of a section: calls of
 * functions, or with display-graph calls and returns. */
bool hv_sections_show(const struct hv_instance *in, const struct hv_event *call);
/* To be called when the option function-trace of IN was changed. */
void hv_sections_use_functions(struct hv_instance *in);
/* To be called before the names of modules are read again. */
void hv_sections_look(struct hv_instances *all);
/* To be called when modules may have come or gone. When the tracer cannot go on, it is nop, and
 * error_log says why. */
void hv_sections_renew(struct hv_instances *all);
/* To be called when tracing_thresh was changed. */
void hv_sections_use_thresh(struct hv_instances *all);

/* Return and set tracing_max_latency of IN, which it keeps when the tracer ends. */
uint64_t hv_sections_longest_ns(struct hv_instance *in);
void hv_sections_begin_at(struct hv_instance *in, uint64_t ns);

/* Whether what is recorded of a section is soon overwritten, so that somebody must look often
 * (hv_section_tracer_look). */
bool hv_sections_need_looks(const struct hv_instances *all);
