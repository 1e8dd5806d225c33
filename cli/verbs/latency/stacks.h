/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks for `hvtrace latency`: where tasks sleep and wait, by triggers of the events of its
 * instance with which they begin to. Leaves to others: whose they are (latency/due_stacks.h). */
#pragma once

#include "cli/client.h"
#include "latency/latency.h"

/* Zero-initialised is off. */
struct latency_stacks {
	uint32_t kinds; /* of moments that have stacks: 1 << enum hv_moment_kind; 0: none */
};

/* Sets the triggers in the instance DIR. *RET_WHY, which the caller frees, says why there are none,
 * or NULL. */
struct hv_err *latency_stacks_begin(struct latency_stacks *s, struct client *c, const char *dir,
				    char **ret_why) hv_must_use;
/* Tells L which moments have stacks. */
void latency_stacks_tell(const struct latency_stacks *s, struct hv_latency *l);
/* No more stacks are recorded. */
struct hv_err *latency_stacks_end(struct latency_stacks *s, struct client *c, const char *dir,
				  struct hv_latency *l) hv_must_use;
