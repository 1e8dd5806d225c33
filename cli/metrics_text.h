/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of metrics.h, by what is known of each session. Names are the guest's or libvirt's, and
 * made harmless. Pure. */
#pragma once

#include <json-c/json.h>

#include "cli/metrics.h"
#include "cli/vcpu_time.h"

/* A function of a profile, of all vCPUs together. */
struct metrics_function {
	uint64_t hits;
	double time_us;
};

struct metrics_domain {
	const char *name, *id; /* borrowed */
	json_object *stat;     /* as cli/session_stat.h says; NULL: it does not answer */
	bool is_profiled, has_time, has_waits;
	struct metrics_function functions[METRICS_FUNCTIONS_MAX]; /* those of the config */
	struct vcpu_time time;
	struct metrics_waits waits;
};

void metrics_text_add(struct hv_text *t, const struct metrics_config *config,
		      const struct metrics_domain *domains, size_t nr);
