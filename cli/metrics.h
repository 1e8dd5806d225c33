/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all sessions of this host count, in Prometheus' text format (version 0.0.4). A session that
 * has gone has no series any more.
 * Leaves to others: how the text is fetched (verbs/exporter.c). */
#pragma once

#include "base/err.h"
#include "base/text.h"

#define METRICS_FUNCTIONS_MAX 64

struct metrics_config {
	const char *run_dir; /* borrowed, as the rest */
	/* Functions whose hits and time are read from trace_stat/, if the guest is profiled. */
	const char *functions[METRICS_FUNCTIONS_MAX];
	size_t nr_functions;
};

/* Asks one session after the other. One that does not answer within two seconds is told as down.
 * Errors: the run directory cannot be read. */
struct hv_err *metrics_add(const struct metrics_config *config, struct hv_text *ret) hv_must_use;
