/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings that `hvtrace latency` makes for its measurement in addition to events, and undoes at
 * its end. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "cli/client.h"
#include "cli/verbs/record/recording.h"
#include "latency/calls.h"
#include "latency/latency.h"

/* -- sections ---------------------------------------------------------------------------------- */

/* Sections with interrupts or preemption off, for `hvtrace latency`. The tracer of its instance
 * keeps the longest section above the threshold. latency_sections_take() reads that section and
 * resets the tracer. latency/latency.h finds the ends of sections from stacks. */

struct latency_sections {
	const char *tracer; /* NULL: no tracer is available */
	uint64_t threshold_us;
};

/* Selects the tracer for the instance DIR that covers most sections, as far as this guest and its
 * other users allow. *RET_WHY, which the caller frees, explains a failure; NULL on success. */
struct hv_err *latency_sections_begin(struct latency_sections *s, struct client *c, const char *dir,
				      uint64_t threshold_ns, char **ret_why) hv_must_use;
/* Passes to L the section kept since the last call, if any. */
struct hv_err *latency_sections_take(struct latency_sections *s, struct client *c, const char *dir,
				     struct hv_latency *l) hv_must_use;

/* -- stacks ------------------------------------------------------------------------------------ */

/* Stacks for `hvtrace latency`: triggers on events of its instance record the stacks of tasks that
 * start to sleep or wait. latency/finders.h matches stacks with events. */

/* Zero-initialised is off. */
struct latency_stacks {
	uint32_t kinds; /* moments that have stacks: 1 << enum hv_moment_kind; 0: no stacks */
};

/* Sets the triggers in the instance DIR. *RET_WHY, which the caller frees, explains a failure; NULL
 * on success. */
struct hv_err *latency_stacks_begin(struct latency_stacks *s, struct client *c, const char *dir,
				    char **ret_why) hv_must_use;
/* Informs L about the moments that have stacks. */
void latency_stacks_report(const struct latency_stacks *s, struct hv_latency *l);
struct hv_err *latency_stacks_end(struct latency_stacks *s, struct client *c, const char *dir,
				  struct hv_latency *l) hv_must_use;

/* -- events of the host ------------------------------------------------------------------------ */

/* Records the host's events about the guest's vCPUs (docs/users/events.md) for `hvtrace latency`:
 * enables them in its instance, and disables exits again if recording them costs too much.
 * latency/vcpu_threads.h interprets them. */

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

/* -- limits of cgroups ------------------------------------------------------------------------- */

/* Probes on the kernel's two functions that throttle and unthrottle the run queue of a cgroup:
 * `hvtrace latency` uses them to see when a cgroup of the guest has used up its CPU time. All
 * measuring commands share them: the first one defines them, and the last one removes them.
 * latency/sched.h interprets the events. */

struct latency_limits {
	bool is_defined;
	bool is_on;
};

/* Defines the probes. *RET_WHY, which the caller frees, explains a failure; NULL on success. */
struct hv_err *latency_limits_begin(struct latency_limits *l, struct client *c,
				    char **ret_why) hv_must_use;
/* Removes the probes unless other commands record them. This command must have stopped recording
 * them. */
struct hv_err *latency_limits_end(struct latency_limits *l, struct client *c) hv_must_use;

/* -- calls of functions ----------------------------------------------------------------------- */

/* Records the longest calls of chosen functions for `hvtrace latency -l`. A second instance records
 * them with function_graph. latency/calls.h selects the calls to keep. */

struct latency_calls {
	struct hv_text filter; /* globs separated by blanks; empty: no functions were requested */
	struct recording recording;
	bool is_on;
	bool reports_put_back; /* the user was already informed that functions were put back */
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
