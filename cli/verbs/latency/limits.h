/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Probes on the kernel's two functions that throttle and unthrottle the run queue of a cgroup:
 * `hvtrace latency` uses them to see when a cgroup of the guest has used up its CPU time. All
 * measuring commands share them: the first one defines them, and the last one removes them.
 * latency/limits.h interprets the events. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct client;

struct latency_limits {
	bool is_defined;
	bool is_on;
};

/* Defines the probes. *RET_WHY, which the caller frees, explains a failure; NULL on success. */
struct hv_err *latency_limits_begin(struct latency_limits *l, struct client *c,
				    char **ret_why) hv_must_use;
/* Removes the probes unless other commands record them. This command must have stopped recording
 * them. */
struct hv_err *latency_limits_end(struct latency_limits *l, struct client *c) hv_must_use;
