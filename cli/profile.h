/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function profile of a session, as trace_stat/ shows it.
 * Leaves to others: which functions are counted, and what is done with the counts. */
#pragma once

#include <stdint.h>

#include "cli/client.h"

#define PROFILE_NAME_MAX 30 /* bytes of a function's name; trace_stat/ shows no more */

/* NAME is that of a function; the guest chose it, and a terminal can show it. TIME_US is the time
 * of its calls that returned. */
typedef void profile_fn(void *ctx, const char *name, uint64_t hits, double time_us);

/* Calls FN for each function that was called, on each vCPU. DIR is an instance, or "": the top.
 * Reads at most 8 MiB for a vCPU, and waits at most WAIT_MS for each part. ETIMEDOUT: all of it
 * takes longer than a minute. */
struct hv_err *profile_read(struct client *c, const char *dir, uint64_t nr_vcpus, uint32_t wait_ms,
			    profile_fn *fn, void *ctx) hv_must_use;
