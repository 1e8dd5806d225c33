/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the function profile of a session from trace_stat/. */
#pragma once

#include <stdint.h>

#include "cli/client.h"

#define PROFILE_NAME_MAX 30 /* bytes of a function's name; trace_stat/ truncates to this length */

/* NAME comes from the guest and is sanitised for a terminal. TIME_US is the total time of calls
 * that returned. */
typedef void profile_fn(void *ctx, const char *name, uint64_t hits, double time_us);

/* Calls FN for each called function on each vCPU. DIR is an instance, or "" for the top. Reads at
 * most 8 MiB per vCPU, and waits at most WAIT_MS for each part. ETIMEDOUT: the whole profile takes
 * longer than a minute. */
struct hv_err *profile_read(struct client *c, const char *dir, uint64_t nr_vcpus, uint32_t wait_ms,
			    profile_fn *fn, void *ctx) hv_must_use;
