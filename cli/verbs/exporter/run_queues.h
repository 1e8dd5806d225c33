/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the tasks of each guest that has a session wait for a vCPU, and its vCPUs for a CPU of
 * the host. A thread for each session has the events of the two schedulers recorded in an instance
 * of its own, which goes with the thread's connection, and counts the waits. It gives them up for a
 * while when tracing takes more of the guest's time than it may.
 * Leaves to others: the waits themselves (latency/wait_export.h), the text (cli/metrics.h). */
#pragma once

#include "cli/metrics.h"

#define RUN_QUEUES_MAX 256 /* sessions; more are not measured */

struct run_queues;

struct run_queues_config {
	struct errand *errand; /* by which sessions are found; borrowed */
	bool has_guest, has_host;
	uint64_t max_overhead_ppm; /* 0: no limit */
};

struct hv_err *run_queues_new(const struct run_queues_config *config,
			      struct run_queues **ret) hv_must_use;
/* Ends all threads. Q may be NULL. */
void run_queues_free(struct run_queues *q);
/* Begins with sessions that have come, and forgets those that have gone. The thread that has made Q
 * calls this about every second. */
void run_queues_follow(struct run_queues *q);
/* Any thread. False: nothing is known of the session ID of the struct run_queues Q. */
bool run_queues_get(void *q, const char *id, struct metrics_waits *ret);
