/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bounds a session that runs unattended: the part of the guest's time that tracing may take, the
 * session's duration, and the time without a client. tree/tree.h measures and stops tracing
 * functions; ending.h detaches. */
#pragma once

#include <stdint.h>

struct service;

struct limits {
	uint64_t look_ns;      /* time of the next check of the load */
	uint64_t used_ns;      /* time when a client was last connected */
	uint64_t measured_ns;  /* the load is measured until then even without a limit */
	uint64_t begins_again; /* earliest retry of a failed detach */
};

/* Performs the work due at NOW_NS while the session runs: stops tracing costly functions, or begins
 * a detach. Called about every 100 ms. */
void limits_keep(struct service *s, uint64_t now_ns);
/* Measures the overhead for a while, because a client wants to know it. */
void limits_measure(struct service *s, uint64_t now_ns);
/* Returns the current limit in parts per million: the lowest limit of the session and the connected
 * clients. LIMITS_NONE: only measure. 0: do not measure. */
#define LIMITS_NONE UINT64_MAX
uint64_t limits_overhead_ppm(const struct service *s);
