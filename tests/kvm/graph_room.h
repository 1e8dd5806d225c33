/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks what the stubs of a graph did in a room: records of calls and returns, return stacks,
 * counts. */
#pragma once

#include "tests/kvm/room_suite.h"

/* The records of one function. */
struct graph_recorded {
	unsigned functions, entries, exits, mores, calls, returns;
	unsigned entry_depth, exit_depth;
	uint64_t called, returned; /* tsc */
};

struct graph_found {
	struct graph_recorded outer, inner;
	unsigned tasks, missed;
	uint64_t host_ns; /* sum over all returns */
};

/* Checks after HLT that registers, return stacks and every byte of memory are as they must be.
 * Returns what was recorded since room_begin. */
struct graph_found graph_check(void);
/* Returns all counts of the function at SITE_OFF in the world, of both vCPUs. */
struct hv_count graph_counted(uint64_t site_off);

/* Returns the case of world_graph_cases that has this name. */
const struct world_case *graph_case(const char *name);
/* Runs the world as it is to the traced function's own first instruction. */
void graph_run_to_the_body(void);
