/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts event filters to programs that the guest's stub executes (tracer/stub_filters.h). Only
 * filters that compare numbers of the entry, at most HV_FILTER_STEPS_MAX times, can be converted;
 * the host evaluates the others. Program and filter (hv_event_filter_passes) agree on every entry
 * that has all fields of its type. event_filter.h defines the order of comparisons. */
#pragma once

#include "tracer/stub_filters.h"
#include "tree/settings/event_predicate.h"

/* Relation of a predicate to its step: the step is equivalent, or its negation. */
enum hv_step_means { HV_STEP_NOTHING, HV_STEP_SAME, HV_STEP_OPPOSITE };
/* Makes a step for P that is not linked to other steps yet. Returns HV_STEP_NOTHING if P cannot be
 * a step. */
enum hv_step_means hv_predicate_step(const struct hv_predicate *p, struct hv_filter_step *ret);

/* Extends P to pass every entry that P or OTHER passes. Returns false and changes nothing if the
 * result has too many steps. Neither program may be the one that passes everything. */
bool hv_stub_filter_or(struct hv_stub_filter *p, const struct hv_stub_filter *other) hv_must_use;
