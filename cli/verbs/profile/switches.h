/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records for `hvtrace profile --off-cpu` and `--wakeups` when the guest's tasks leave their vCPUs
 * and are woken: events of the scheduler with the stacks of the kernel, and a probe with the stack
 * of the program that leaves. profile/offcpu.h interprets them. */
#pragma once

#include "cli/verbs/profile/ticks.h"
#include "cli/verbs/record/recording.h"

/* Zero-initialised is off. */
struct profile_switches {
	bool has_stacks, has_wakers; /* stacks of blocked tasks and of wakers are wanted */
	bool has_running;	     /* the running time of tasks is wanted; ticks.h records it */
	struct profile_probe probe;
};

/* Prepares the instance of R, which is not recording; TICKS can be recorded, too. *RET_NO_USERS and
 * *RET_NO_STACKS, which the caller frees, explain why stacks of programs or of the kernel are not
 * recorded; NULL: they are. */
struct hv_err *profile_switches_begin(struct profile_switches *s, const struct recording *r,
				      const struct profile_ticks *ticks, char **ret_no_users,
				      char **ret_no_stacks) hv_must_use;
/* Removes the probe unless other commands record it. This command must have stopped recording it. */
struct hv_err *profile_switches_end(struct profile_switches *s, struct client *c) hv_must_use;
