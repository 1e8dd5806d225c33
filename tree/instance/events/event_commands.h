/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of functions that switch events, FUNC:enable_event:SYSTEM:EVENT[:COUNT] and
 * FUNC:disable_event:SYSTEM:EVENT[:COUNT] in set_ftrace_filter (event_enable_func). While a
 * function has one, the guest records the event, whatever its file enable says, and the host obeys
 * when it comes to the record of the call. Leaves to others: which functions have commands
 * (tree/settings/probes.h), obeying the rest (run_commands.h). */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_event_commands_part;

/* Finds the event in PARAM, "SYSTEM:EVENT[:COUNT]", and makes what commands for it need.
 * *RET_COUNT is what follows the colon behind the event; NULL: there is none. EINVAL: PARAM names
 * no event of the guest's. EOPNOTSUPP: it cannot be switched so. */
struct hv_err *hv_event_command_prepare(struct hv_instance *in, char *param,
					struct hv_event_ref *ret,
					const char **ret_count) hv_must_use;

/* Returns the name of REF, "SYSTEM:EVENT"; NULL: the guest does not have it any more. The caller
 * frees it. */
char *hv_event_command_target(const struct hv_instance *in, struct hv_event_ref ref);

/* Switches the event of PROBE, if that changes anything. Returns whether it did. */
bool hv_event_command_obey(struct hv_instance *in, enum hv_probe_command command,
			   const struct hv_probe *probe);
