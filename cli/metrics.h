/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all sessions of this host count, in Prometheus' text format (version 0.0.4). A session that
 * has gone has no series any more.
 * Leaves to others: the text (metrics_text.h), how it is fetched (verbs/exporter.c). */
#pragma once

#include "base/err.h"
#include "base/text.h"
#include "latency/wait_export.h"

#define METRICS_FUNCTIONS_MAX 64

struct metrics_waits {
	struct hv_wait_export_times times;
	bool has_tasks, has_vcpus; /* are measured now */
};

struct metrics_config {
	struct errand *errand; /* by which sessions are found; borrowed, as the rest */
	/* Functions whose hits and time are read from trace_stat/, if the guest is profiled. */
	const char *functions[METRICS_FUNCTIONS_MAX];
	size_t nr_functions;
	/* What is known of the waits of the session ID. Called by the thread that calls
	 * metrics_add(). False: nothing. NULL: they are not measured. */
	bool (*waits)(void *ctx, const char *id, struct metrics_waits *ret);
	void *ctx;		      /* of waits */
	bool has_runqueue, has_steal; /* which of them */
};

/* Asks the sessions beside each other, by threads. One that does not answer within two seconds is
 * reported as down; functions that take two more are left out.
 * Errors: the run directory cannot be read. */
struct hv_err *metrics_add(const struct metrics_config *config, struct hv_text *ret) hv_must_use;
