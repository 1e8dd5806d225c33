/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the longest call of each recorded function from the return events of function_graph, and
 * the recorded functions that called it. It is an export format that writes no file.
 *
 * cli/verbs/latency chooses the functions and prints the result. One thread. */
#pragma once

#include "export/export.h"
#include "latency/stall.h"

#define HV_CALLS_MAX	64 /* functions; the ones with the longest calls are kept */
#define HV_CALL_CALLERS 8

struct hv_call {
	uint64_t function; /* address of the function */
	uint64_t from_ns, to_ns;
	uint64_t host_ns; /* time in which the host did not run the vCPU, if recorded */
	uint64_t nr;	  /* calls of this function since it entered the table */
	unsigned cpu;	  /* where it returned */
	struct hv_stall_task task;
	uint64_t callers[HV_CALL_CALLERS]; /* function addresses, innermost first */
	unsigned nr_callers;
};

/* Zero-initialised is empty. */
struct hv_calls {
	struct hv_call list[HV_CALLS_MAX];
	unsigned nr;
	uint64_t nr_skipped; /* calls of functions that are not in the table */
	uint64_t nr_seen, nr_lost;
};

extern const struct hv_export_format hv_calls_format;

/* Adds CALL; its callers must be empty, its NR is ignored. Add calls in the order in which they
 * return. */
void hv_calls_see(struct hv_calls *c, const struct hv_call *call);
/* Sorts the calls, the longest first. */
void hv_calls_sort(struct hv_calls *c);

/* Returns whether HOST_NS of the calls is recorded. X must be open and of this format. */
bool hv_calls_have_host(struct hv_export *x);
/* X must be open and of this format. */
struct hv_calls *hv_calls_of(struct hv_export *x);
/* Returns the name of the function at ADDR, or NULL. */
const char *hv_calls_symbol(struct hv_export *x, uint64_t addr);
