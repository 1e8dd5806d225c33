/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks the results of the graph trampolines in a room: records of calls and returns, return
 * stacks, counts. */
#pragma once

#include "tests/kvm/room_suite.h"

/* The records of one function. */
struct graph_recorded {
	unsigned functions, entries, exits, mores, calls, returns;
	unsigned entry_depth, exit_depth;
	uint64_t called, returned; /* TSC values */
};

struct graph_found {
	struct graph_recorded outer, inner;
	unsigned tasks, missed;
	uint64_t host_ns; /* sum over all returns */
};

/* Checks after HLT that registers, return stacks and every byte of memory have the expected values.
 * Returns the records since room_begin(). */
struct graph_found graph_check(void);
/* Returns the sum of both vCPUs' counts of the function at offset SITE_OFF of the world. */
struct hv_count graph_counted(uint64_t site_off);

/* Returns the case of world_graph_cases with this name. */
const struct world_case *graph_case(const char *name);
/* Runs the current world up to the first instruction of the traced function's own code. */
void graph_run_to_the_body(void);
