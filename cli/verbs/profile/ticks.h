/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records the timer ticks of a guest for `hvtrace profile`: a probe of the kernel function that each
 * tick calls, with the stack of the program or a copy of it, and the function tracer with the stack
 * of the kernel. Where the guest supports no probes, the function tracer alone records the ticks.
 * profile/profile.h counts them. */
#pragma once

#include "cli/verbs/profile/probe.h"
#include "cli/verbs/record/recording.h"
#include "profile/profile.h"

/* Zero-initialised is off. */
struct profile_ticks {
	struct profile_probe probe, rest; /* REST: of the rest of a copy */
	bool has_copies; /* record copies of stacks instead of following frame pointers (stacks.h) */
};

/* Prepares the instance of R, which is not recording. *RET_NO_USERS and *RET_NO_STACKS, which the
 * caller frees, explain why stacks of programs or of the kernel are not recorded; NULL: they are. */
struct hv_err *profile_ticks_begin(struct profile_ticks *t, const struct recording *r,
				   char **ret_no_users, char **ret_no_stacks) hv_must_use;
/* Removes the probe unless other commands record it. This command must have stopped recording it. */
struct hv_err *profile_ticks_end(struct profile_ticks *t, struct client *c) hv_must_use;

/* Defines the event PROFILE_TICKS_EVENT for another command that records it, with the words of the
 * program's stack. profile_probe_remove() removes it. */
#define PROFILE_TICKS_EVENT HV_PROFILE_SYSTEM ":" HV_PROFILE_EVENT
struct hv_err *profile_ticks_define(struct profile_probe *p, struct client *c) hv_must_use;
