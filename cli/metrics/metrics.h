/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of all sessions of this host in Prometheus' text format (version 0.0.4). The series of a
 * session end with the session. verbs/exporter.c serves them. */
#pragma once

#include <json-c/json.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/metrics/host_counts.h"
#include "latency/wait_times.h"

#define METRICS_FUNCTIONS_MAX 64

struct metrics_waits {
	struct hv_wait_export_times times;
	bool has_tasks, has_vcpus; /* are measured now */
};

struct metrics_config {
	struct errand *errand; /* finds the sessions; everything here is borrowed */
	/* Functions whose hits and time are read from trace_stat/ if the guest is profiled. */
	const char *functions[METRICS_FUNCTIONS_MAX];
	size_t nr_functions;
	/* Gets the wait times of session ID. The thread that runs metrics_add() calls it. Returns
	 * false if they are unknown. NULL: waits are not measured. */
	bool (*waits)(void *ctx, const char *id, struct metrics_waits *ret);
	void *ctx;		      /* of waits */
	bool has_runqueue, has_steal; /* the kinds of waits to export */
};

/* Queries the sessions in parallel threads. Reports a session as down if it does not answer within
 * two seconds, and omits its functions if they take two seconds more. Fails if the run directory
 * cannot be read. */
struct hv_err *metrics_add(const struct metrics_config *config, struct hv_text *ret) hv_must_use;

/* -- the text --------------------------------------------------------------------------------- */

/* Formats the metrics. Sanitises names, which come from guests and libvirt. Does no I/O. */

/* A profiled function, summed over all vCPUs. */
struct metrics_function {
	uint64_t hits;
	double time_us;
};

struct metrics_domain {
	const char *name, *id; /* borrowed */
	json_object *stat;     /* cli/session_stat.h; NULL: the session does not answer */
	bool is_profiled, has_time, has_waits;
	struct metrics_function functions[METRICS_FUNCTIONS_MAX]; /* in the config's order */
	struct vcpu_time time;
	struct metrics_waits waits;
};

void metrics_text_add(struct hv_text *t, const struct metrics_config *config,
		      const struct metrics_domain *domains, size_t nr);
