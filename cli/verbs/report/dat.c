/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/report/dat.h"

#include <fcntl.h>
#include <string.h>
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#include <trace-cmd/trace-cmd.h>
#include <unistd.h>

#include "cli/verbs/report/dat_json.h"
#include "cli/verbs/verb.h"

#define MUCH_BYTES (32 << 10)

struct report {
	struct trace_seq text; /* not yet printed */
	struct hv_text json;   /* likewise, instead of TEXT */
	enum report_as as;
	size_t nr_files;
	bool cannot_print; /* stdout took no more; put_out() has said why */
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
	tep_print_event(tep, &r->text, record, "%16s-%-7d [%03d] %s %6.1000d: %s: %s",
			TEP_PRINT_COMM, TEP_PRINT_PID, TEP_PRINT_CPU, TEP_PRINT_LATENCY,
			TEP_PRINT_TIME, TEP_PRINT_NAME, TEP_PRINT_INFO);
	/* Marks and stacks end with a newline of their own, other texts do not. */
	while (r->text.len && r->text.buffer[r->text.len - 1] == '\n')
		r->text.len--;
	trace_seq_putc(&r->text, '\n');
}

/* Names and texts are the guest's. No character is one that a terminal acts on. */
static void clean(char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)text[i] < ' ' && text[i] != '\n' && text[i] != '\t') ||
		    text[i] == '\177')
			text[i] = '?';
}

static int put(struct report *r)
{
	if (r->as == REPORT_JSON) {
		r->cannot_print = r->json.len_bytes && put_out(r->json.data, r->json.len_bytes);
		hv_text_clear(&r->json);
		return r->cannot_print;
	}
	clean(r->text.buffer, r->text.len);
	r->cannot_print = put_out(r->text.buffer, r->text.len);
	trace_seq_reset(&r->text);
	return r->cannot_print;
}

static int take_event(struct tracecmd_input *input, struct tep_record *record, int cpu hv_unused,
		      void *ctx)
{
	struct report *r = ctx;

	if (r->as == REPORT_JSON) {
		report_dat_json(tracecmd_get_tep(input), record, &r->json);
		return r->json.len_bytes < MUCH_BYTES ? 0 : put(r);
	}
	if (r->nr_files > 1)
		trace_seq_printf(&r->text, "%s: ", (const char *)tracecmd_get_private(input));
	add_event(r, tracecmd_get_tep(input), record);
	return r->text.len < MUCH_BYTES ? 0 : put(r);
}

/* Reads the heads of FDS. What was opened is the caller's to close, also on failure. */
static struct hv_err *open_all(const char *const *paths, const int *fds, size_t nr,
			       struct tracecmd_input **ret)
{
	for (size_t i = 0; i < nr; i++) {
		int fd = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);

		if (fd < 0 || lseek(fd, 0, SEEK_SET) != 0)
			return hv_err_new(errno, "%s: %s", paths[i], strerror(errno));
		ret[i] = tracecmd_open_fd(fd, 0);
		if (!ret[i])
			return hv_err_new(EINVAL,
					  "%s: not a trace.dat file that libtracecmd can read",
					  paths[i]);
		tracecmd_set_private(ret[i], (void *)paths[i]);
	}
	return NULL;
}

static struct hv_err *show_all(struct report *r, struct tracecmd_input **inputs, size_t nr,
			       const char *path)
{
	int status = nr == 1 ? tracecmd_iterate_events(inputs[0], NULL, 0, take_event, r)
			     : tracecmd_iterate_events_multi(inputs, (int)nr, take_event, r);

	if (!r->cannot_print)
		put(r);
	if (status && !r->cannot_print)
		return hv_err_new(EIO, "%s: damaged: only the events above can be read", path);
	return NULL;
}

struct hv_err *report_dat(const char *const *paths, const int *fds, size_t nr, enum report_as as)
{
	HV_AUTO_FREE struct tracecmd_input **inputs =
		hv_alloc(nr * sizeof(struct tracecmd_input *));
	struct report r = {.as = as, .nr_files = nr};
	struct hv_err *err;

	tracecmd_set_loglevel(TEP_LOG_NONE);
	tep_set_loglevel(TEP_LOG_NONE);
	trace_seq_init(&r.text);
	err = open_all(paths, fds, nr, inputs);
	if (!err)
		err = show_all(&r, inputs, nr, paths[0]);
	for (size_t i = 0; i < nr && inputs[i]; i++)
		tracecmd_close(inputs[i]);
	trace_seq_destroy(&r.text);
	hv_text_deinit(&r.json);
	return err;
}
