/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/report/dat.h"

#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#include <trace-cmd/trace-cmd.h>

#include "cli/verbs/verb.h"

#define MUCH_BYTES (32 << 10)

struct report {
	struct trace_seq text; /* not yet printed */
	bool cannot_print;     /* stdout took no more; put_out() has said why */
};

/* The columns are those of `trace`. They have what a page of the file says, which is less than a
 * line of the tree: whether the preempt count is above 0, not whether it is 1 or 2. */
static void add_event(struct report *r, struct tep_handle *tep, struct tep_record *record)
{
	if (record->missed_events > 0)
		trace_seq_printf(&r->text, "CPU:%d [LOST %lld EVENTS]\n", record->cpu,
				 (long long)record->missed_events);
	else if (record->missed_events)
		trace_seq_printf(&r->text, "CPU:%d [LOST EVENTS]\n", record->cpu);
	tep_print_event(tep, &r->text, record, "%16s-%-7d [%03d] %s %6.1000d: %s: %s\n",
			TEP_PRINT_COMM, TEP_PRINT_PID, TEP_PRINT_CPU, TEP_PRINT_LATENCY,
			TEP_PRINT_TIME, TEP_PRINT_NAME, TEP_PRINT_INFO);
}

static int put(struct report *r)
{
	r->cannot_print = put_out(r->text.buffer, r->text.len);
	trace_seq_reset(&r->text);
	return r->cannot_print;
}

static int take_event(struct tracecmd_input *input, struct tep_record *record, int cpu hv_unused,
		      void *ctx)
{
	struct report *r = ctx;

	add_event(r, tracecmd_get_tep(input), record);
	return r->text.len < MUCH_BYTES ? 0 : put(r);
}

struct hv_err *report_dat(const char *path)
{
	struct report r = {0};
	struct tracecmd_input *input;
	int status;

	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	input = tracecmd_open(path, 0);
	if (!input)
		return hv_err_new(EINVAL, "%s: not a trace.dat file that libtracecmd can read",
				  path);
	trace_seq_init(&r.text);
	status = tracecmd_iterate_events(input, NULL, 0, take_event, &r);
	if (!r.cannot_print)
		put(&r);
	trace_seq_destroy(&r.text);
	tracecmd_close(input);
	if (status && !r.cannot_print)
		return hv_err_new(EIO, "%s: damaged: only the events above can be read", path);
	return NULL;
}
