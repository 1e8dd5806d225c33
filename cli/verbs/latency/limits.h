/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The probes by which `hvtrace latency` sees that a cgroup of the guest has used up its CPU time:
 * at the two functions of the kernel that stop a group's run queue and let it go on. They are
 * shared by all who measure: the first one defines them, and the last one removes them.
 * Leaves to others: what the events mean (latency/limits.h). */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct client;

struct latency_limits {
	bool is_defined;
	bool is_on;
};

/* Defines the probes. *RET_WHY, which the caller frees, says why that is not possible, NULL
 * otherwise. */
struct hv_err *latency_limits_begin(struct latency_limits *l, struct client *c,
				    char **ret_why) hv_must_use;
/* Removes the probes, unless others record them. Nothing of ours may record them any more. */
struct hv_err *latency_limits_end(struct latency_limits *l, struct client *c) hv_must_use;
