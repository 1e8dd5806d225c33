/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The triggers of an instance for guest events. While there are any, the guest records their
 * events, and events that they may enable, regardless of enable and tracing_on. The host runs a
 * trigger when it reads the event's record, so the trigger takes effect between the events before
 * and after it. tree/settings/trigger.h parses triggers, hists.h has hist triggers,
 * tree/files/event.c has the file. */
#pragma once

#include "base/err.h"
#include "tracer/events/event.h"
#include "tree/instance/core/instance.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"
#include "tree/settings/trigger.h"

struct hv_instance;
struct hv_part;
struct hv_text;

extern const struct hv_part hv_triggers_part;

/* Adds or removes the trigger in TEXT, which was written to the trigger file of TYPE. EINVAL,
 * EEXIST; RET_FAULT->code is nonzero if the filter is wrong. Other errors: the event cannot be
 * recorded, or no memory. On error nothing changes. */
struct hv_err *hv_instance_write_trigger(struct hv_instance *in, const struct hv_event_type *type,
					 const char *text,
					 struct hv_filter_fault *ret_fault) hv_must_use;
/* Removes the triggers that the kernel removes when the file is truncated: hist triggers. */
struct hv_err *hv_instance_truncate_triggers(struct hv_instance *in,
					     const struct hv_event_type *type) hv_must_use;
/* Adds the contents of the file. */
void hv_instance_triggers_text(struct hv_instance *in, const struct hv_event_type *type,
			       struct hv_text *ret);
/* Removes all triggers. */
struct hv_err *hv_instance_end_triggers(struct hv_instance *in) hv_must_use;
bool hv_triggers_have_any(const struct hv_instance *in);
bool hv_triggers_have(const struct hv_instance *in, enum hv_trigger_command command);

/* HV_TRIGGER_LATE: recording was off when the event occurred. It does not count as recorded, even
 * if a trigger has just started recording. */
enum hv_trigger_time { HV_TRIGGER_IN_TIME, HV_TRIGGER_LATE };

/* Callbacks that receive events while triggers run. */
struct hv_trigger_taker {
	void *ctx;
	/* The event itself, to be stored if wanted: called after the triggers that act before the
	 * event and before those that act after it. */
	void (*take)(void *ctx, enum hv_trigger_time time);
	/* A synthetic event, borrowed during the call. */
	void (*take_made)(void *ctx, const struct hv_event *event);
};

/* Runs the triggers of EVENT: a guest event, or a marker that is already in the buffer (an
 * HV_EVENT_PRINT with the id and entry of a guest event). */
void hv_instance_pull_triggers(struct hv_instance *in, const struct hv_event *event,
			       const struct hv_trigger_taker *taker);

/* -- function commands that switch events ------------------------------------------------------ */

/* Function commands that switch events: FUNC:enable_event:SYSTEM:EVENT[:COUNT] and
 * FUNC:disable_event:SYSTEM:EVENT[:COUNT] in set_ftrace_filter (event_enable_func). While a
 * function has one, the guest records the event regardless of its enable file, and the host
 * executes the command when it reads the record of the call. tree/settings/func_commands.h stores
 * the commands of functions; demux.c executes the others. */

extern const struct hv_part hv_event_commands_part;

/* Finds the event in PARAM, "SYSTEM:EVENT[:COUNT]", and prepares it for commands. *RET_COUNT is the
 * text after the event's colon, or NULL. EINVAL: PARAM does not name a guest event. EOPNOTSUPP:
 * commands cannot switch it. */
struct hv_err *hv_event_command_prepare(struct hv_instance *in, char *param,
					struct hv_event_ref *ret,
					const char **ret_count) hv_must_use;

/* Returns the name of REF, "SYSTEM:EVENT", which the caller frees. NULL: the guest no longer has
 * it. */
char *hv_event_command_target(const struct hv_instance *in, struct hv_event_ref ref);

/* Executes COMMAND, which enables or disables the event of PROBE. Returns whether that changed
 * anything. */
bool hv_event_command_run(struct hv_instance *in, enum hv_func_command_kind command,
			  const struct hv_func_command *probe);
