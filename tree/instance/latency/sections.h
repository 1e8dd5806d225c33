/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The section tracers (preemptoff, ...) of an instance. They measure sections, and with the option
 * function-trace they trace the functions in them. Only one instance at a time can have one.
 * tracer/sections/section_tracer.h controls the guest, functions.h selects the sites, tree/format/
 * prints sections. */
#pragma once

#include "tree/instance/core/instance.h"

/* Returns whether IN has a section tracer. */
bool hv_sections_are_on(const struct hv_instance *in);

extern const struct hv_part hv_sections_part;

/* The tracers set options like the kernel's, restore them at the end, and drop earlier
 * measurements. Begin: EBUSY: another instance has such a tracer; EOPNOTSUPP: see
 * hv_section_tracer_start(). */
extern const struct hv_tracer_ops hv_tracer_preemptoff;
extern const struct hv_tracer_ops hv_tracer_irqsoff;
extern const struct hv_tracer_ops hv_tracer_preemptirqsoff;

/* Applies the option function-trace of IN. Call it when the option changed. */
void hv_sections_use_functions(struct hv_instance *in);
/* Copies a kept section from the rings (hv_section_tracer_look). Call it before the names of
 * modules are read again. */
void hv_sections_look(struct hv_instances *all);
/* Call it when modules may have been loaded or removed. If the tracer cannot continue, it becomes
 * nop and error_log has the reason. */
void hv_sections_renew(struct hv_instances *all);
/* Applies tracing_thresh. Call it when tracing_thresh changed. */
void hv_sections_use_thresh(struct hv_instances *all);

/* Return and set tracing_max_latency of IN, which IN keeps when the tracer stops. */
uint64_t hv_sections_longest_ns(const struct hv_instance *in);
void hv_sections_begin_at(struct hv_instance *in, uint64_t ns);

/* Returns whether section records are overwritten so soon that the caller must poll often
 * (hv_section_tracer_look). */
bool hv_sections_need_looks(const struct hv_instances *all);
