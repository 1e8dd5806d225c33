/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long tasks of a domain that `hvtrace top` shows wait for a vCPU: the events of the guest's
 * scheduler, recorded in an instance that goes with the connection.
 * Leaves to others: the waits themselves (latency/wait_export.h), what became of them (look.h). */
#pragma once

#include "cli/client.h"
#include "cli/verbs/record/recording.h"
#include "latency/wait_times.h"

struct top_waits {
	struct recording recording; /* has no instance if nothing is measured */
	char *why;		    /* owned; why nothing is measured although it was wanted */
};
#define TOP_WAITS_NONE                                                                             \
	{                                                                                          \
		.recording = RECORDING_NONE                                                        \
	}
void top_waits_deinit(struct top_waits *w);

/* INSTANCE is the name of its instance. If the waits cannot be measured, WHY says so, and that is
 * no error. */
struct hv_err *top_waits_begin(struct top_waits *w, struct client *c,
			       const char *instance) hv_must_use;
/* Takes what there is, if it is measured. To be called some times a second. */
struct hv_err *top_waits_take(struct top_waits *w) hv_must_use;
/* False: they are not measured. */
bool top_waits_get(const struct top_waits *w, struct hv_wait_times *ret);
/* Ends measuring; WHY, which is copied, says why, if it goes on otherwise. */
struct hv_err *top_waits_end(struct top_waits *w, const char *why) hv_must_use;
