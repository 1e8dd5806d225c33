/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Filters of events as programs that the guest's stub obeys (tracer/stub_filters.h). A filter has
 * one if it only compares numbers of the entry, at most HV_FILTER_STEPS_MAX times; all others are
 * the host's. The program and the filter (hv_event_filter_passes) agree on every entry that has all
 * fields of its type. Leaves to others: the order in which a filter compares (event_filter.h). */
#pragma once

#include "tracer/stub_filters.h"
#include "tree/settings/event_predicate.h"

/* What of P holds: what the step RET says holds, or the opposite. */
enum hv_step_means { HV_STEP_NOTHING, HV_STEP_SAME, HV_STEP_OPPOSITE };
/* Makes a step of P, which leads nowhere yet. HV_STEP_NOTHING: it cannot be one. */
enum hv_step_means hv_predicate_step(const struct hv_predicate *p, struct hv_filter_step *ret);

/* P lets pass what P or OTHER did. Returns false, and changes nothing, if that has too many steps.
 * No program lets everything pass here. */
bool hv_stub_filter_or(struct hv_stub_filter *p, const struct hv_stub_filter *other) hv_must_use;
