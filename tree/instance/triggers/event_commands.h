/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function commands that switch events: FUNC:enable_event:SYSTEM:EVENT[:COUNT] and
 * FUNC:disable_event:SYSTEM:EVENT[:COUNT] in set_ftrace_filter (event_enable_func). While a
 * function has one, the guest records the event regardless of its enable file, and the host
 * executes the command when it reads the record of the call. tree/settings/probes.h stores the
 * commands of functions; demux.c executes the others. */
#pragma once

#include "tree/instance/core/instance.h"

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

/* Switches the event of PROBE. Returns whether that changed anything. */
bool hv_event_command_obey(struct hv_instance *in, enum hv_probe_command command,
			   const struct hv_probe *probe);
