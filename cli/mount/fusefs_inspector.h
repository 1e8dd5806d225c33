/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a mounted tree asks its inspector (inspector.h): how a process closes a file, and O_DIRECT
 * for streams.
 * Leaves to others: what follows from the answer (fusefs_file.c). */
#pragma once

#include "cli/mount/fusefs_state.h"

/* Asks the inspector about PID, which closes A's file. Calls SEEN, perhaps at once; VIEW NULL: the
 * inspector did not answer in time. */
void close_look(struct ask *a, pid_t pid,
		void (*seen)(struct ask *a, const struct inspector_view *view));
/* Returns whether PID is the inspector, which closes its copy of a file. It waits for this process
 * while others wait for it. */
bool close_is_of_inspector(const struct fusefs *fs, pid_t pid);

/* Sets O_DIRECT for the file that OPENER has just opened. */
void direct_begin(struct file *f, pid_t opener);
/* Returns the time until something is due; -1: nothing is. */
int direct_timeout_ms(const struct fusefs *fs);

/* Called when the answer for A took too long. */
void inspector_is_late(struct ask *a);
void inspector_died(struct fusefs *fs);
/* Takes the inspector's answers, and repeats questions that are due. */
void see_to_inspector(struct fusefs *fs);
