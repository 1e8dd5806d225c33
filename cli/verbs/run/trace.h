/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces a machine of `hvtrace run`: a thread that, as a client of the machine's service, sets the
 * tracer, lets the machine run on, writes its trace to a file until the machine ends, and then lets
 * the machine go. Leaves to others: the machine and its service (run.c). */
#pragma once

#include "vmm/minivm/minivm.h"

struct run_trace;

struct run_trace_config {
	const char *name;	 /* of the machine */
	const char *tracer;	 /* NULL: no tracer is set */
	const char *filter;	 /* globs, separated by blanks; NULL: all functions */
	const char *notrace;	 /* like filter; NULL: none */
	const char *output_path; /* NULL: other clients read the trace */
	unsigned is_stopped;	 /* the machine is stopped until everything is set */
};

/* Opens the output; errors are those of open(2). Traces nothing yet. Borrows O and what CONFIG
 * points to. */
struct hv_err *run_trace_new(struct hv_minivm *o, const struct run_trace_config *config,
			     struct run_trace **ret) hv_must_use;
/* Called when the service answers, at CLIENT_FD, which it takes. */
struct hv_err *run_trace_start(struct run_trace *t, int client_fd) hv_must_use;
/* Called after the machine's end. Waits until the last lines are written. Returns the first error
 * of the thread, or NULL. T may be NULL. */
struct hv_err *run_trace_free(struct run_trace *t) hv_must_use;
