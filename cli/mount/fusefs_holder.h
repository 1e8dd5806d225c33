/* What a mounted tree has its holder (holder.h) do: look at who closes a file, and give O_DIRECT to
 * streams.
 * Leaves to others: what follows from how a process fares (fusefs_file.c). */
#pragma once

#include "cli/mount/fusefs_state.h"

/* The holder is asked how PID fares, which closes A's file. SEEN is called then, perhaps at once;
 * VIEW NULL: it could not be found out in time. */
void close_look(struct ask *a, pid_t pid,
		void (*seen)(struct ask *a, const struct holder_view *view));
/* The holder itself is closing; it waits for us while others wait for it. */
bool close_is_of_holder(const struct fusefs *fs, pid_t pid);

/* O_DIRECT for what OPENER has just opened. */
void direct_begin(struct file *f, pid_t opener);
/* Until something is due; -1: nothing is. */
int direct_timeout_ms(const struct fusefs *fs);

/* A's look took too long. */
void holder_is_late(struct ask *a);
void holder_died(struct fusefs *fs);
/* Takes its answers, asks again what is due. */
void see_to_holder(struct fusefs *fs);
