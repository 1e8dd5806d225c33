/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters of events, as the kernel reads them (trace_events_filter.c): predicates that are combined
 * by &&, ||, ! and parentheses.
 * Leaves to others: predicates (event_predicate.h), which event has which filter
 * (tree/instance/events/event_filters.h). */
#pragma once

#include "tree/settings/event_predicate.h"
#include "tree/settings/filter_program.h"

struct hv_event_filter;

/* Parses FILTER, of which the length is at most HV_EVENT_FILTER_MAX. NULL: it is wrong, and
 * *RET_FAULT says how. */
#define HV_EVENT_FILTER_MAX 4095
struct hv_event_filter *hv_event_filter_parse(const struct hv_filter_scope *scope,
					      const char *filter,
					      struct hv_filter_fault *ret_fault) hv_must_use;
void hv_event_filter_free(struct hv_event_filter *f);

/* Returns whether F can be a program of the stub, which is *RET then. */
bool hv_event_filter_program(const struct hv_event_filter *f, struct hv_stub_filter *ret);

/* Returns whether F lets RECORD pass. Takes time that is bounded by the length of the filter and of
 * the record. */
bool hv_event_filter_passes(const struct hv_event_filter *f, const struct hv_filter_record *record);
