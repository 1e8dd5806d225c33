/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The triggers that an instance has for the guest's own events. While there are any, the guest
 * records their events, and those that they may switch on, whatever enable and tracing_on say, and
 * the host obeys when it comes to the record: what was recorded before the event was recorded
 * before the trigger, what was recorded after it after the trigger.
 * Leaves to others: how triggers are written (tree/settings/trigger.h), hist triggers (hists.h),
 * the file (tree/files/event_trigger.c). */
#pragma once

#include "base/err.h"
#include "tracer/events/event.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"
#include "tree/settings/trigger.h"

struct hv_catalogue;
struct hv_instance;
struct hv_part;
struct hv_text;

extern const struct hv_part hv_triggers_part;

struct hv_triggers {
	struct hv_trigger_of {
		struct hv_event_ref ref;
		struct hv_event_ref target; /* of the event that it names */
		struct hv_trigger trigger;
		struct hv_event_filter *filter; /* owned; NULL: none */
	} * list;				/* owned, the newest first */
	size_t nr;
};

/* Obeys TEXT, which was written to the file of events of TYPE: adds a trigger, or removes one.
 * EINVAL, EEXIST; RET_FAULT->code is not 0 if its filter is wrong. Other errors are of the event,
 * which cannot be recorded, or of memory. On error nothing has changed. */
struct hv_err *hv_instance_write_trigger(struct hv_instance *in, const struct hv_event_type *type,
					 const char *text,
					 struct hv_filter_fault *ret_fault) hv_must_use;
/* Removes what the kernel removes when the file is truncated: triggers of histograms. */
struct hv_err *hv_instance_truncate_triggers(struct hv_instance *in,
					     const struct hv_event_type *type) hv_must_use;
/* Adds the text of the file. */
void hv_instance_triggers_text(struct hv_instance *in, const struct hv_event_type *type,
			       struct hv_text *ret);
/* Removes all. */
struct hv_err *hv_instance_end_triggers(struct hv_instance *in) hv_must_use;
/* Switches such an event: its records go into the buffer from now on, or do not. */
void hv_instance_switch_event(struct hv_instance *in, struct hv_event_ref ref, bool on);
bool hv_triggers_have(const struct hv_triggers *s, enum hv_trigger_command command);

/* LATE: the event came when recording was off, and does not count as recorded even if a trigger has
 * switched it on now. */
enum hv_trigger_time { HV_TRIGGER_IN_TIME, HV_TRIGGER_LATE };

/* Who takes events while triggers are obeyed. */
struct hv_trigger_taker {
	void *ctx;
	/* The event itself, perhaps into the buffer: between those that act before the event and
	 * those that act after it. */
	void (*take)(void *ctx, enum hv_trigger_time time);
	/* A synthetic event. Borrowed for the time of the call. */
	void (*take_made)(void *ctx, const struct hv_event *event);
};

/* Obeys the triggers of EVENT, an HV_EVENT_GUESTS; or an HV_EVENT_PRINT that has the id and the
 * entry of such an event, and was recorded already. */
void hv_instance_pull_triggers(struct hv_instance *in, const struct hv_event *event,
			       const struct hv_trigger_taker *taker);
