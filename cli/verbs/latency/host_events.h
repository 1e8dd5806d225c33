/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records the host's events about the guest's vCPUs (docs/users/events.md) for `hvtrace latency`:
 * enables them in its instance, and disables exits again if recording them costs too much.
 * latency/vcpu_threads.h interprets them. */
#pragma once

#include "cli/client.h"
#include "latency/latency.h"

/* Zero-initialised is off. */
struct latency_host_events {
	bool is_on, has_exits;
	uint64_t looked_ns;
	unsigned nr_over; /* successive checks in which exits cost too much */
};

/* Enables the events in the instance DIR. *RET_WHY, which the caller frees, explains a failure;
 * NULL on success. */
struct hv_err *latency_host_events_begin(struct latency_host_events *h, struct client *c,
					 const char *dir, char **ret_why) hv_must_use;
/* Call it repeatedly. Disables exits if recording them took more than MAX_PPM of a vCPU's time for
 * some seconds, as far as that is known, and then sets *RET_GAVE_UP. */
struct hv_err *latency_host_events_look(struct latency_host_events *h, struct client *c,
					const char *dir, struct hv_latency *l, uint64_t max_ppm,
					bool *ret_gave_up) hv_must_use;
