/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Event filters in the kernel's syntax (trace_events_filter.c): predicates combined by &&, ||, !
 * and parentheses. event_predicate.h evaluates predicates; tree/instance/events/event_filters.h
 * assigns filters to events. */
#pragma once

#include "tree/settings/event_predicate.h"
#include "tree/settings/filter_program.h"

struct hv_event_filter;

/* Parses FILTER, at most HV_EVENT_FILTER_MAX bytes. On error returns NULL and sets *RET_FAULT. */
#define HV_EVENT_FILTER_MAX 4095
struct hv_event_filter *hv_event_filter_parse(const struct hv_filter_scope *scope,
					      const char *filter,
					      struct hv_filter_fault *ret_fault) hv_must_use;
void hv_event_filter_free(struct hv_event_filter *f);

/* Converts F to a program for the stub. Returns false if that is not possible. */
bool hv_event_filter_program(const struct hv_event_filter *f, struct hv_stub_filter *ret);

/* Returns whether RECORD passes F. The time is bounded by the length of the filter and of the
 * record. */
bool hv_event_filter_passes(const struct hv_event_filter *f, const struct hv_filter_record *record);
