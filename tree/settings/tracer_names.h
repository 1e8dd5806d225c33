/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers and their names in current_tracer. They are the same for every guest.
 * tree/instance/core/tracer.h defines their operations. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

/* All tracers, in the order of available_tracers: name (its table is hv_tracer_NAME), enumerator,
 * bit of its right (rights.h), and the latency that it measures. To add a tracer, add a line here
 * and a file with its table. */
#define HV_TRACERS(X)                                                                              \
	X(function_graph, FUNCTION_GRAPH, 2, NOTHING)                                              \
	X(wakeup_dl, WAKEUP_DL, 8, WAITS)                                                          \
	X(wakeup_rt, WAKEUP_RT, 7, WAITS)                                                          \
	X(wakeup, WAKEUP, 6, WAITS)                                                                \
	X(preemptirqsoff, PREEMPTIRQSOFF, 5, SECTIONS)                                             \
	X(preemptoff, PREEMPTOFF, 3, SECTIONS)                                                     \
	X(irqsoff, IRQSOFF, 4, SECTIONS)                                                           \
	X(function, FUNCTION, 1, NOTHING)                                                          \
	X(nop, NOP, 0, NOTHING)

enum hv_tracer {
#define X(name_, id_, bit_, measures_) HV_TRACER_##id_ = (bit_),
	HV_TRACERS(X)
#undef X
};

/* A latency tracer keeps the worst case of one kind: `trace` shows it and tracing_max_latency is
 * its duration. */
enum hv_tracer_measures {
	HV_MEASURES_NOTHING,
	HV_MEASURES_SECTIONS, /* sections with interrupts or preemption off */
	HV_MEASURES_WAITS,    /* waits of woken tasks for a CPU */
};

enum {
#define X(name_, id_, bit_, measures_) HV_TRACER_MEASURES_##id_ = HV_MEASURES_##measures_,
	HV_TRACERS(X)
#undef X
};

enum hv_tracer_measures hv_tracer_measures(enum hv_tracer tracer);
const char *hv_tracer_name(enum hv_tracer tracer);
/* EINVAL: no tracer is called NAME. */
struct hv_err *hv_tracer_find(const char *name, enum hv_tracer *ret) hv_must_use;
/* Adds the names in the order of available_tracers, with SEPARATOR between them. Omits the tracers
 * with bits 1u << TRACER in WITHOUT. */
void hv_tracers_text(struct hv_text *out, const char *separator, unsigned without);
