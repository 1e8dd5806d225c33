/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decides where function commands (func_commands.h) are executed, and which actions the session
 * needs for them:
 *
 *   in the guest   at the call itself, if only the top instance has commands, no other instance
 *                  traces, no instance has triggers, and the guest can keep all counts
 *   on the host    otherwise, when the drain reads the record of the call (demux.c)
 *
 * The host always executes commands that affect a buffer or switch events. trace.h adds and removes
 * commands. */
#pragma once

#include "tree/instance/core/instance.h"

/* Passes the actions of all functions to the session, according to the instances' settings. The
 * next hv_sites_publish() changes the guest's sites. ENOMEM. */
struct hv_err *hv_commands_publish(struct hv_instances *all) hv_must_use;
/* Returns the remaining count of FUNC_COMMAND, which is of kind COMMAND. */
int64_t hv_commands_left(const struct hv_instance *in, enum hv_func_command_kind command,
			 const struct hv_func_command *func_command);
