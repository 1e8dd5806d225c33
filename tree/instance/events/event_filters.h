/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filters of an instance for guest events. The host applies them to drained events, so while
 * the top instance has one, its buffer is in host memory (demux.h). The guest can apply some of
 * them earlier (publish.h). An event keeps its filter while it is disabled.
 * tree/settings/event_filter.h evaluates filters; tree/files/event.c has the files. */
#pragma once

#include "base/err.h"
#include "tracer/events/event.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"

struct hv_instance;
struct hv_part;

extern const struct hv_part hv_event_filters_part;

/* Return the number of all filters, and the number of valid ones. */
size_t hv_event_filters_nr(const struct hv_instance *in);
size_t hv_event_filters_nr_right(const struct hv_instance *in);
/* NULL: the event has no filter. Borrowed until the next change. */
const char *hv_event_filters_text(const struct hv_instance *in, struct hv_event_ref ref);

/* NULL: no filter, or an invalid one. Borrowed until the next change. */
const struct hv_event_filter *hv_event_filters_of(const struct hv_instance *in,
						  struct hv_event_ref ref);

/* Replaces the filter of IN for events of TYPE by FILTER. If FILTER is invalid, returns the
 * kernel's error, sets *RET_FAULT, and removes the filter; the file then shows FILTER and the
 * fault, or WHY if it is not NULL, as in the kernel (apply_event_filter). On any other error
 * RET_FAULT->code is 0 and nothing changes. */
struct hv_err *hv_instance_set_event_filter(struct hv_instance *in,
					    const struct hv_event_type *type, const char *filter,
					    const char *why,
					    struct hv_filter_fault *ret_fault) hv_must_use;
void hv_instance_remove_event_filter(struct hv_instance *in, const struct hv_event_type *type);

/* Returns whether EVENT, an HV_EVENT_GUESTS of IN, passes FILTER. */
bool hv_instance_record_passes(const struct hv_instance *in, const struct hv_event_filter *filter,
			       const struct hv_event *event);
/* Returns whether IN has a filter for events of type ID. */
bool hv_instance_has_event_filter(const struct hv_instance *in, uint32_t id);
/* Returns whether EVENT, an HV_EVENT_GUESTS, passes the filters of IN. */
bool hv_instance_filters_pass(const struct hv_instance *in, const struct hv_event *event);
