/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the tasks of each guest with a session wait for a vCPU, and its vCPUs for a CPU of the
 * host. A thread for each session records the events of the two schedulers in an instance that ends
 * with the thread's connection, and counts the waits. It stops for a while if tracing takes too
 * much of the guest's time. latency/wait_times.h computes the waits; cli/metrics/metrics.h formats
 * them. */
#pragma once

#include "cli/metrics/metrics.h"

#define RUN_QUEUES_MAX 256 /* limit for sessions; further ones are not measured */

struct run_queues;

struct run_queues_config {
	struct errand *errand; /* finds sessions; borrowed */
	bool has_guest, has_host;
	uint64_t max_overhead_ppm; /* 0: no limit */
};

struct hv_err *run_queues_new(const struct run_queues_config *config,
			      struct run_queues **ret) hv_must_use;
/* Ends all threads. Q may be NULL. */
void run_queues_free(struct run_queues *q);
/* Starts measuring new sessions, and drops ended ones. Called about every second by the thread that
 * created Q. */
void run_queues_follow(struct run_queues *q);
/* Any thread. Q is a struct run_queues. Returns false if session ID is unknown. */
bool run_queues_get(void *q, const char *id, struct metrics_waits *ret);
