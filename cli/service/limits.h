/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What bounds a session that somebody began and does not watch: the part of the guest's time that
 * tracing may take, the session's own time, and for how long it may be without a client.
 * Leaves to others: measuring, and which functions are no longer traced (tree/tree.h); detaching
 * (ending.h). */
#pragma once

#include <stdint.h>

struct service;

struct limits {
	uint64_t look_ns;      /* time of the next look at the load */
	uint64_t used_ns;      /* when a client was connected last */
	uint64_t measured_ns;  /* until when the load is measured although there is no limit */
	uint64_t begins_again; /* when a detach that failed may begin again */
};

/* Does what is due at NOW_NS, while the session runs: puts costly functions back, or begins a
 * detach. Called every 100 ms or so. */
void limits_keep(struct service *s, uint64_t now_ns);
/* Somebody wants to know the overhead from time to time: it is measured for a while. */
void limits_measure(struct service *s, uint64_t now_ns);
/* The limit now, in parts per million: the lowest of those of the session and of the clients that
 * are connected. LIMITS_NONE: the overhead is only measured. 0: it is not. */
#define LIMITS_NONE UINT64_MAX
uint64_t limits_overhead_ppm(const struct service *s);
