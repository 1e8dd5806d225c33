/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces a machine of `hvtrace run`. A thread, which is a client of the machine's service, sets the
 * tracer, lets the machine run, writes its trace to a file until the machine ends, and then
 * releases the machine. run.c starts the machine and its service. */
#pragma once

#include "vmm/minivm/minivm.h"

struct run_trace;

struct run_trace_config {
	const char *name;
	const char *tracer;	 /* NULL: no tracer is set */
	const char *filter;	 /* globs separated by blanks; NULL: all functions */
	const char *notrace;	 /* like filter; NULL: none */
	const char *output_path; /* NULL: other clients read the trace */
	unsigned is_stopped;	 /* the machine is stopped until all settings are made */
};

/* Opens the output; errors are from open(2). Does not trace yet. Borrows O and the objects that
 * CONFIG points to. */
struct hv_err *run_trace_new(struct hv_minivm *o, const struct run_trace_config *config,
			     struct run_trace **ret) hv_must_use;
/* Call it when the service is ready to answer on CLIENT_FD. Takes CLIENT_FD. */
struct hv_err *run_trace_start(struct run_trace *t, int client_fd) hv_must_use;
/* Call it after the machine's end. Waits until the last lines are written. Returns the thread's
 * first error, or NULL. T may be NULL. */
struct hv_err *run_trace_free(struct run_trace *t) hv_must_use;
