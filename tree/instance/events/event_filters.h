/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The filters that an instance has for the guest's own events. The host decides by them when it
 * takes events out of the guest's rings, so while the top has one, its buffer is in host memory
 * (demux.h). The guest leaves out some of those before (publish.h). A filter is kept whether
 * or not its event is on. Leaves to others: what a filter means (tree/settings/event_filter.h), the
 * files (tree/files/event_filter.c). */
#pragma once

#include "base/err.h"
#include "tracer/events/event.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"

struct hv_catalogue;
struct hv_instance;
struct hv_part;

extern const struct hv_part hv_event_filters_part;

struct hv_event_filters {
	struct hv_event_filter_of {
		struct hv_event_ref ref;
		char *text; /* owned; what the file shows, without the last newline */
		struct hv_event_filter *filter; /* owned; NULL: TEXT says what was wrong */
	} * list;				/* owned, sorted by id; of each id at most one */
	size_t nr;
	size_t nr_right; /* how many have a filter that is right */
};

/* NULL: the event has none. Borrowed until the next change. */
const char *hv_event_filters_text(const struct hv_event_filters *s, struct hv_event_ref ref);

/* NULL: there is none, or a wrong one. Borrowed, likewise. */
const struct hv_event_filter *hv_event_filters_of(const struct hv_event_filters *s,
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

/* Returns whether FILTER lets EVENT, an HV_EVENT_GUESTS of IN's, pass. */
bool hv_instance_record_passes(const struct hv_instance *in, const struct hv_event_filter *filter,
			       const struct hv_event *event);
/* Returns whether IN has a filter for events of the type ID. */
bool hv_instance_has_event_filter(const struct hv_instance *in, uint32_t id);
/* Returns whether the filters of IN let EVENT, an HV_EVENT_GUESTS, pass. */
bool hv_instance_filters_pass(const struct hv_instance *in, const struct hv_event *event);
