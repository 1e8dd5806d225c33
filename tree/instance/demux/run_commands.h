/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Obeys commands of functions on the host. The guest records that such a function was called, and
 * the host obeys the command when it comes to that record: the events before it were recorded
 * before the command, the events after it after the command. The host counts, so a guest cannot
 * cause a snapshot or a dump that nobody asked for. Sinks of the drain call this.
 * Leaves to others: which commands the host obeys (commands.h). */
#pragma once

#include "tree/instance/core/instance.h"

/* Obeys the commands that IN has for the function of EVENT, which is an HV_EVENT_COMMAND. */
void hv_run_commands(struct hv_instance *in, const struct hv_event *event);
/* Returns whether EVENT, a stack that the command stacktrace asked for, belongs into IN's buffer.
 */
bool hv_wants_command_stack(struct hv_instance *in, const struct hv_event *event);
