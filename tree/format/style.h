/* What the formats of events have in common: how events are shown, and what a header tells. */
#pragma once

#include <stdint.h>

#include "kernel/clock.h"
#include "tree/settings/options.h"

struct hv_kernel;
struct hv_latency;

/* All borrowed. */
struct hv_style {
	const struct hv_kernel *kernel; /* gives names to addresses */
	enum hv_clock_kind clock;
	const struct hv_options *options;
	const struct hv_latency *latency; /* NULL: not in latency format */
};

struct hv_header {
	const char *tracer;
	uint64_t entries; /* in the buffer */
	uint64_t written; /* likewise, with those that were overwritten */
	unsigned nr_cpus;
};
