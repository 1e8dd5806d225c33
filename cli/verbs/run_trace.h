/* What is traced of a machine of our own: a thread that sets the tracer as a client of the
 * machine's service, lets the machine go on, writes its trace to a file until it ends, and then
 * lets go of it. Leaves to others: the machine and its service (run.c). */
#pragma once

#include "vmm/minivm/minivm.h"

struct run_trace;

struct run_trace_config {
	const char *run_dir;
	const char *name;	 /* of the machine */
	const char *tracer;	 /* NULL: nothing is set */
	const char *filter;	 /* globs, a blank between; NULL: all */
	const char *notrace;	 /* likewise; NULL: none */
	const char *output_path; /* NULL: the trace is left to other clients */
	unsigned stands;	 /* the machine stands until everything is set */
};

/* ENOENT and others: the output. Nothing is traced yet. Borrows O and what CONFIG points to. */
struct hv_err *run_trace_new(struct hv_minivm *o, const struct run_trace_config *config,
			     struct run_trace **ret) hv_must_use;
/* Once the service answers. */
struct hv_err *run_trace_start(struct run_trace *t) hv_must_use;
/* After the machine's end: waits for the last lines. The first thing that went wrong, or NULL. NULL
 * is fine. */
struct hv_err *run_trace_free(struct run_trace *t) hv_must_use;
