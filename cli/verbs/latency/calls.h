/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The longest calls of chosen functions, for `hvtrace latency -l`: an instance of its own, in which
 * function_graph records them beside the events of the other. Leaves to others: which calls are
 * kept (latency/calls.h), words. */
#pragma once

#include "cli/verbs/record/recording.h"
#include "latency/calls.h"

struct latency_calls {
	struct hv_text filter; /* globs, with a blank between them; empty: nothing is asked for */
	struct recording recording;
	bool is_on;
	bool tells_put_back; /* it is told already that some functions were put back */
};
#define LATENCY_CALLS_NONE                                                                         \
	{                                                                                          \
		.recording = RECORDING_NONE                                                        \
	}

/* As set_ftrace_filter has it: a name or a glob. */
void latency_calls_want(struct latency_calls *l, const char *glob);
/* Makes the instance with CLOCK, where nothing is recorded yet. *RET_NO_HOST, which the caller
 * frees, says why it is not recorded how much of a call the host took. These do nothing if no
 * function was asked for. */
struct hv_err *latency_calls_begin(struct latency_calls *l, struct client *c, const char *clock,
				   char **ret_no_host) hv_must_use;
struct hv_err *latency_calls_start(struct latency_calls *l) hv_must_use;
/* *RET_MORE is set if there was something. */
struct hv_err *latency_calls_take(struct latency_calls *l, bool *ret_more) hv_must_use;
/* Nothing is recorded any more; what was, can be taken. */
struct hv_err *latency_calls_stop(struct latency_calls *l) hv_must_use;
/* Likewise, and takes what was recorded; the guest's functions are called as before. IS_ON. */
struct hv_err *latency_calls_give_up(struct latency_calls *l) hv_must_use;
/* Looks at what has come last. */
struct hv_err *latency_calls_end(struct latency_calls *l) hv_must_use;
/* Removes the instance. */
struct hv_err *latency_calls_close(struct latency_calls *l) hv_must_use;
void latency_calls_deinit(struct latency_calls *l);
