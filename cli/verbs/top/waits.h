/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures how long tasks of a domain wait for a vCPU, for `hvtrace top`: records the guest's
 * scheduler events in an instance that ends with the connection. latency/wait_export.h computes the
 * waits; look.h computes rates. */
#pragma once

#include "cli/client.h"
#include "cli/verbs/record/recording.h"
#include "latency/wait_times.h"

struct top_waits {
	struct recording recording; /* has no instance if waits are not measured */
	char *why;		    /* owned; why requested measuring is off */
};
#define TOP_WAITS_NONE                                                                             \
	{                                                                                          \
		.recording = RECORDING_NONE                                                        \
	}
void top_waits_deinit(struct top_waits *w);

/* INSTANCE names its instance. If waits cannot be measured, sets `why` and succeeds. */
struct hv_err *top_waits_begin(struct top_waits *w, struct client *c,
			       const char *instance) hv_must_use;
/* Takes available events, if waits are measured. Call it a few times a second. */
struct hv_err *top_waits_take(struct top_waits *w) hv_must_use;
/* False: waits are not measured. */
bool top_waits_get(const struct top_waits *w, struct hv_wait_times *ret);
/* Stops measuring; WHY, which is copied, is the reason if the rest continues. */
struct hv_err *top_waits_end(struct top_waits *w, const char *why) hv_must_use;
