/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event filters in the kernel's syntax (trace_events_filter.c): predicates combined by &&, ||, !
 * and parentheses. event_predicate.h evaluates predicates; tree/instance/events/event_filters.h
 * assigns filters to events. */
#pragma once

#include "tracer/guest/trampoline_programs.h"
#include "tree/settings/event_predicate.h"

struct hv_event_filter;

/* Parses FILTER, at most HV_EVENT_FILTER_MAX bytes. On error returns NULL and sets *RET_FAULT. */
#define HV_EVENT_FILTER_MAX 4095
struct hv_event_filter *hv_event_filter_parse(const struct hv_filter_scope *scope,
					      const char *filter,
					      struct hv_filter_fault *ret_fault) hv_must_use;
void hv_event_filter_free(struct hv_event_filter *f);

/* Converts F to a program for the trampoline. Returns false if that is not possible. */
bool hv_event_filter_program(const struct hv_event_filter *f, struct hv_trampoline_filter *ret);

/* Returns whether RECORD passes F. The time is bounded by the length of the filter and of the
 * record. */
bool hv_event_filter_passes(const struct hv_event_filter *f, const struct hv_filter_record *record);

/* -- filters in the guest ---------------------------------------------------------------------- */

/* Converts event filters to programs that the guest's trampoline executes
 * (tracer/guest/trampoline_programs.h). Only filters that compare numbers of the entry, at most
 * HV_FILTER_STEPS_MAX times, can be converted; the host evaluates the others. Program and filter
 * (hv_event_filter_passes) agree on every entry that has all fields of its type. */

/* Extends P to pass every entry that P or OTHER passes. Returns false and changes nothing if the
 * result has too many steps. Neither program may be the one that passes everything. */
bool hv_trampoline_filter_or(struct hv_trampoline_filter *p,
			     const struct hv_trampoline_filter *other) hv_must_use;
