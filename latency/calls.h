/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The longest call of each of the functions that are recorded, by the returns of function_graph,
 * and which of these functions it was in: who called it, as far as callers are recorded, too. A
 * format of export/ that writes no file. Leaves to others: what is recorded, words
 * (cli/verbs/latency). One thread. */
#pragma once

#include "export/export.h"
#include "latency/stall.h"

#define HV_CALLS_MAX	64 /* functions: of more, those with the longest calls */
#define HV_CALL_CALLERS 8

struct hv_call {
	uint64_t function; /* its address */
	uint64_t from_ns, to_ns;
	uint64_t host_ns; /* in which the host did not run its vCPU, if that is recorded */
	uint64_t nr;	  /* calls of this function since it is known */
	unsigned cpu;	  /* where it returned */
	struct hv_stall_task task;
	uint64_t callers[HV_CALL_CALLERS]; /* addresses of functions, the nearest first */
	unsigned nr_callers;
};

/* Zero-initialised is empty. */
struct hv_calls {
	struct hv_call list[HV_CALLS_MAX];
	unsigned nr;
	uint64_t nr_left_out; /* calls of functions that had no room */
	uint64_t nr_seen, nr_lost;
};

extern const struct hv_export_format hv_calls_format;

/* CALL has all but NR and its callers. Calls come in the order in which they return. */
void hv_calls_see(struct hv_calls *c, const struct hv_call *call);
/* The longest first. */
void hv_calls_sort(struct hv_calls *c);

/* Whether calls have HOST_NS. X is of this format, and open. */
bool hv_calls_have_host(struct hv_export *x);
/* Likewise. */
struct hv_calls *hv_calls_of(struct hv_export *x);
/* The name of the function at ADDR. NULL: it is not known. */
const char *hv_calls_symbol(struct hv_export *x, uint64_t addr);
