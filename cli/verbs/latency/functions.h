/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of the guest's programs for `hvtrace latency`: records in which function of its
 * program a task was at each timer tick, and names the function of the program that is to blame.
 * latency/program_ticks.h selects the samples.
 *
 * The names come from the guest: they are only displayed, and the report sanitises them. */
#pragma once

#include "cli/verbs/latency/report.h"
#include "cli/verbs/profile/probe.h"
#include "cli/verbs/profile/programs.h"
#include "latency/latency.h"

/* Zero-initialised is off. */
struct latency_functions {
	struct profile_probe probe;
	bool is_on;
	struct programs programs;
	struct hv_chains chains; /* names of functions */
	/* The functions of the verdict's causes. */
	struct latency_function list[HV_CAUSES_MAX];
};

/* Defines the event. *RET_WHY, which the caller frees, explains a failure; NULL on success. */
struct hv_err *latency_functions_begin(struct latency_functions *f, struct client *c,
				       char **ret_why) hv_must_use;
/* Finds the files of the samples that L receives from now on. F must not move. */
void latency_functions_follow(struct latency_functions *f, struct client *c, struct hv_latency *l);
/* Sets the functions of V's causes that are the fault of a program. */
struct hv_err *latency_functions_name(struct latency_functions *f,
				      const struct hv_verdict *v) hv_must_use;
/* Removes the event unless other commands record it. This command must have stopped recording it. */
struct hv_err *latency_functions_end(struct latency_functions *f, struct client *c) hv_must_use;
void latency_functions_deinit(struct latency_functions *f);
