/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats the metrics of metrics.h. Sanitises names, which come from guests and libvirt. Pure. */
#pragma once

#include <json-c/json.h>

#include "cli/metrics/metrics.h"
#include "cli/metrics/vcpu_time.h"

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
