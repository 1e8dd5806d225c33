/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to the inspector process (inspector.h) for a mounted tree: how a process came to close a
 * file, and setting O_DIRECT on streams. fusefs_file.c acts on the answers. */
#pragma once

#include "cli/mount/fusefs_state.h"

/* Asks the inspector about PID, which closes A's file. Calls SEEN, possibly before it returns; VIEW
 * NULL: the inspector did not answer in time. */
void close_look(struct ask *a, pid_t pid,
		void (*seen)(struct ask *a, const struct inspector_view *view));
/* Returns whether PID is the inspector or its predecessor, which closes its own copy of a file.
 * Answer such a close immediately: the inspector cannot examine itself while the close blocks
 * it. */
bool close_is_of_inspector(const struct fusefs *fs, pid_t pid);

/* Sets O_DIRECT for the file that OPENER has just opened. */
void direct_begin(struct file *f, pid_t opener);
/* Returns the time until the next action is due; -1: no action is due. */
int direct_timeout_ms(const struct fusefs *fs);

/* Called when the answer for A is late. */
void inspector_is_late(struct ask *a);
void inspector_died(struct fusefs *fs);
/* Handles the inspector's answers, and repeats requests that are due. */
void see_to_inspector(struct fusefs *fs);
