/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's own events of the guest's vCPUs (docs/users/events.md), as `hvtrace latency` switches
 * them on in its instance, and its exits off again when recording them costs too much. Leaves to
 * others: what they say (latency/vcpu_threads.h). */
#pragma once

#include "cli/client.h"
#include "latency/latency.h"

/* Zero-initialised is off. */
struct latency_host_events {
	bool is_on, has_exits;
	uint64_t looked_ns;
	unsigned nr_over; /* looks in a row at which exits cost too much */
};

/* Switches them on in the instance DIR. *RET_WHY, which the caller frees, says why they cannot be
 * had, NULL otherwise. */
struct hv_err *latency_host_events_begin(struct latency_host_events *h, struct client *c,
					 const char *dir, char **ret_why) hv_must_use;
/* To be called again and again. Gives exits up if recording them took more than MAX_PPM of a vCPU's
 * time for some seconds, as far as that is known; *RET_GAVE_UP then. */
struct hv_err *latency_host_events_look(struct latency_host_events *h, struct client *c,
					const char *dir, struct hv_latency *l, uint64_t max_ppm,
					bool *ret_gave_up) hv_must_use;
