/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The synthetic events that synthetic_events and dynamic_events define. All instances share them,
 * and each has an event type (tracer/tracepoints/event_types.h). Actions of hist triggers make
 * these events on the host (hists.h) for every instance that has them enabled or has triggers for
 * them. This requires the drain (demux.h). tree/settings/hist/synth.h parses definitions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "tracer/events/event.h"
#include "tree/settings/event_set.h"
#include "tree/settings/hist/synth.h"

struct hv_event_type;
struct hv_instances;
struct hv_part;

/* Maximum number of synthetic events. */
#define HV_SYNTHS_MAX 256

extern const struct hv_part hv_synths_part;

/* Defines the event in TEXT. EEXIST: the name is in use; others as in the kernel. RET_FAULT->code
 * is 0 if TEXT did not cause the error. */
struct hv_err *hv_synths_define(struct hv_instances *all, const char *text,
				struct hv_synth_fault *ret_fault) hv_must_use;
/* Removes the event NAME. Instances that recorded it lose all their events. ENOENT; EBUSY: it is
 * enabled, has triggers, or a hist trigger makes it. */
struct hv_err *hv_synths_remove(struct hv_instances *all, const char *name) hv_must_use;
/* Removes all synthetic events. EBUSY: one is in use; nothing is removed. */
struct hv_err *hv_synths_clear(struct hv_instances *all) hv_must_use;

enum hv_synths_file { HV_SYNTHS_OWN_FILE, HV_SYNTHS_DYNAMIC_EVENTS };
/* Adds their lines in FILE. */
void hv_synths_text(const struct hv_instances *all, enum hv_synths_file file, struct hv_text *ret);

/* Returns whether TYPE is a synthetic event's type. */
bool hv_synths_is(const struct hv_event_type *type);
/* Returns the event NAME, or NULL. Borrowed until it is removed. */
const struct hv_synth *hv_synths_find(const struct hv_instances *all, const char *name);

/* Makes synthetic event *RET from SYNTH and VALUES, with the time and vCPU of EVENT. ENTRY,
 * HV_ENTRY_LEN_MAX bytes, receives the entry. Returns false if it does not fit. */
bool hv_synths_event(const struct hv_instances *all, const struct hv_synth *synth,
		     const struct hv_hist_value *values, const struct hv_event *event,
		     struct hv_event *ret, uint8_t *entry);
