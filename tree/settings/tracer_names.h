/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers, which are the same for every guest, and their names in current_tracer. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

enum hv_tracer {
	HV_TRACER_NOP,
	HV_TRACER_FUNCTION,
	HV_TRACER_FUNCTION_GRAPH,
	/* Of sections (tracer/section_tracer.h): */
	HV_TRACER_PREEMPTOFF,
	HV_TRACER_IRQSOFF,
	HV_TRACER_PREEMPTIRQSOFF,
	/* Of wakeups (tree/instance/latency/wakeups.h): */
	HV_TRACER_WAKEUP,
	HV_TRACER_WAKEUP_RT,
	HV_TRACER_WAKEUP_DL,
};

/* Returns whether TRACER records calls of functions. */
static inline bool hv_tracer_has_functions(enum hv_tracer tracer)
{
	return tracer == HV_TRACER_FUNCTION || tracer == HV_TRACER_FUNCTION_GRAPH;
}

/* Returns whether TRACER measures sections. */
static inline bool hv_tracer_has_sections(enum hv_tracer tracer)
{
	return tracer >= HV_TRACER_PREEMPTOFF && tracer <= HV_TRACER_PREEMPTIRQSOFF;
}

/* Returns whether TRACER measures how long woken tasks wait for a CPU. */
static inline bool hv_tracer_has_wakeups(enum hv_tracer tracer)
{
	return tracer >= HV_TRACER_WAKEUP;
}

/* Returns whether `trace` of TRACER is the worst latency, and tracing_max_latency its time. */
static inline bool hv_tracer_keeps_worst(enum hv_tracer tracer)
{
	return hv_tracer_has_sections(tracer) || hv_tracer_has_wakeups(tracer);
}

const char *hv_tracer_name(enum hv_tracer tracer);
/* EINVAL: no tracer is called NAME. */
struct hv_err *hv_tracer_find(const char *name, enum hv_tracer *ret) hv_must_use;
/* Adds the names in the order of available_tracers, with SEPARATOR between them, but not those of
 * the bits 1u << TRACER in WITHOUT. */
void hv_tracers_text(struct hv_text *out, const char *separator, unsigned without);
