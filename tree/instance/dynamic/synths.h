/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The synthetic events that synthetic_events has defined. All instances share them, as the types of
 * the guest's own events, among which each has a type (tracer/event_types.h). Actions of hist
 * triggers make these events, on the host (hist_actions.h), and every instance that has them on, or
 * has triggers for them, gets them. So the host takes the guest's rings then (demux.h).
 * Leaves to others: the words of a definition (tree/settings/synth.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "ringbuf/abi.h"
#include "tracer/events/event.h"
#include "tree/settings/event_set.h"
#include "tree/settings/synth.h"

struct hv_event_type;
struct hv_instances;
struct hv_part;
struct hv_synth_event;

/* At most so many at a time. */
#define HV_SYNTHS_MAX 256

struct hv_synths {
	struct hv_synth_event **list; /* owned, as what it points to; the oldest first */
	size_t nr;
	uint64_t nr_made; /* ever */
	bool has_pads;	  /* the kernel's hist triggers use memory of the CPU */
};

extern const struct hv_part hv_synths_part;

/* Defines an event by TEXT. EEXIST: there is an event of that name; others as the kernel's.
 * RET_FAULT->code is 0 if the error is none of what was written. */
struct hv_err *hv_synths_define(struct hv_instances *all, const char *text,
				struct hv_synth_fault *ret_fault) hv_must_use;
/* Removes the one called NAME. Instances that have recorded it lose all their events. ENOENT;
 * EBUSY: it is on, a hist trigger makes it, or it has triggers. */
struct hv_err *hv_synths_remove(struct hv_instances *all, const char *name) hv_must_use;
/* Removes all. EBUSY: one is used; then all stay. */
struct hv_err *hv_synths_clear(struct hv_instances *all) hv_must_use;

enum hv_synths_file { HV_SYNTHS_OWN_FILE, HV_SYNTHS_DYNAMIC_EVENTS };
/* Adds their lines in a file. */
void hv_synths_text(const struct hv_instances *all, enum hv_synths_file file, struct hv_text *ret);

/* Whether TYPE is that of a synthetic event. */
bool hv_synths_is(const struct hv_event_type *type);
/* The one called NAME. NULL: there is none. Borrowed until it is removed. */
const struct hv_synth *hv_synths_find(const struct hv_instances *all, const char *name);

/* Makes the event SYNTH with VALUES, where and when EVENT was: *RET, whose entry is in ENTRY, of
 * HV_ENTRY_LEN_MAX bytes. False: it does not fit. */
bool hv_synths_event(const struct hv_instances *all, const struct hv_synth *synth,
		     const struct hv_hist_value *values, const struct hv_event *event,
		     struct hv_event *ret, uint8_t *entry);
