/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks for `hvtrace latency`: triggers on events of its instance record the stacks of tasks that
 * start to sleep or wait. latency/due_stacks.h matches stacks with events. */
#pragma once

#include "cli/client.h"
#include "latency/latency.h"

/* Zero-initialised is off. */
struct latency_stacks {
	uint32_t kinds; /* moments that have stacks: 1 << enum hv_moment_kind; 0: no stacks */
};

/* Sets the triggers in the instance DIR. *RET_WHY, which the caller frees, explains a failure; NULL
 * on success. */
struct hv_err *latency_stacks_begin(struct latency_stacks *s, struct client *c, const char *dir,
				    char **ret_why) hv_must_use;
/* Informs L about the moments that have stacks. */
void latency_stacks_tell(const struct latency_stacks *s, struct hv_latency *l);
struct hv_err *latency_stacks_end(struct latency_stacks *s, struct client *c, const char *dir,
				  struct hv_latency *l) hv_must_use;
