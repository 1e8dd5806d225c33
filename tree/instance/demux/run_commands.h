/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Executes function commands on the host. The guest records the call of the function, and the host
 * executes the command when the drain reads that record, so the command takes effect between the
 * events before and after it. The host maintains the counts, so a guest cannot trigger unrequested
 * snapshots or dumps. Called by sinks of the drain. commands.h decides which commands the host
 * executes. */
#pragma once

#include "tree/instance/core/instance.h"

/* Executes IN's commands for the function of EVENT, an HV_EVENT_COMMAND. */
void hv_run_commands(struct hv_instance *in, const struct hv_event *event);
/* Returns whether EVENT, a stack requested by the command stacktrace, belongs in IN's buffer. */
bool hv_wants_command_stack(struct hv_instance *in, const struct hv_event *event);
