/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records the longest calls of chosen functions for `hvtrace latency -l`. A second instance records
 * them with function_graph. latency/calls.h selects the calls to keep. */
#pragma once

#include "cli/verbs/record/recording.h"
#include "latency/calls.h"

struct latency_calls {
	struct hv_text filter; /* globs separated by blanks; empty: no functions were requested */
	struct recording recording;
	bool is_on;
	bool tells_put_back; /* the user was already informed that functions were put back */
};
#define LATENCY_CALLS_NONE                                                                         \
	{                                                                                          \
		.recording = RECORDING_NONE                                                        \
	}

/* GLOB is a name or a glob as in set_ftrace_filter. */
void latency_calls_want(struct latency_calls *l, const char *glob);
/* Creates the instance with CLOCK; it does not record yet. *RET_NO_HOST, which the caller frees,
 * explains why the host's share of calls is not recorded. This and the functions below do nothing
 * if no functions were requested. */
struct hv_err *latency_calls_begin(struct latency_calls *l, struct client *c, const char *clock,
				   char **ret_no_host) hv_must_use;
struct hv_err *latency_calls_start(struct latency_calls *l) hv_must_use;
/* Sets *RET_MORE if there were events. */
struct hv_err *latency_calls_take(struct latency_calls *l, bool *ret_more) hv_must_use;
/* Stops recording; recorded events can still be taken. */
struct hv_err *latency_calls_stop(struct latency_calls *l) hv_must_use;
/* Stops recording, takes the recorded events, and removes the tracer, so that functions are no
 * longer patched for it. Requires is_on. */
struct hv_err *latency_calls_give_up(struct latency_calls *l) hv_must_use;
/* Processes the last events. */
struct hv_err *latency_calls_end(struct latency_calls *l) hv_must_use;
struct hv_err *latency_calls_close(struct latency_calls *l) hv_must_use;
void latency_calls_deinit(struct latency_calls *l);
