/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Performs a request: session, recording, command, signals, summary. */
#include "cli/verbs/record/request.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/stop_signals.h"
#include "cli/terminal.h"
#include "cli/verbs/own_session.h"
#include "cli/verbs/record/apart.h"
#include "cli/verbs/record/recording.h"
#include "cli/verbs/summary.h"
#include "cli/verbs/verb.h"

#define TURN_MS	    100 /* interval of checks for signals, the time, and the command's end */
#define REST_MAX_NS (600 * HV_NS_PER_S)
#define DRAIN_MS    300 /* longer than a reader waits for records that are being written */

struct record {
	const struct record_request *request;
	struct record_command command;
	struct own_session session;
	struct errand errand;
	struct recording recording;
	struct hv_text probed; /* events of the request's probes that were defined */
	struct summary summary;
	uint32_t pipe; /* handle of trace_pipe if the target has no path */
	int out_error; /* 0: standard output works */
};

static void record_deinit(struct record *r)
{
	own_session_close(&r->session);
	record_command_deinit(&r->command);
	recording_deinit(&r->recording);
	errand_end(&r->errand);
	summary_deinit(&r->summary);
	hv_text_deinit(&r->probed);
}

static bool has_file(const struct record *r)
{
	return r->request->target.path;
}

static struct hv_err *in_domain_of(const struct record *r, struct hv_err *err)
{
	return err && err->code != ECONNRESET ? hv_err_in(err, "domain '%s'", r->request->spec)
					      : err;
}

static void note_lines(struct hv_text *notes)
{
	char *rest;

	hv_text_add(notes, "");
	rest = notes->data;
	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			note(line);
}

static struct hv_err *put_settings(struct record *r)
{
	const struct record_settings *s = &r->request->settings;
	HV_AUTO_TEXT struct hv_text notes = {0};
	struct hv_err *err = recording_begin(&r->recording, &r->session.client, r->request);

	if (!err)
		err = record_settings_put(s, &r->recording, &r->probed, &notes);
	r->summary.has_own = record_settings_have_events(s);
	r->summary.has_names = s->tracer && s->filter.len_bytes;
	if (err)
		return in_domain_of(r, err);
	note_lines(&notes);
	return NULL;
}

/* Removes the instance and the probes. */
static struct hv_err *remove_settings(struct record *r)
{
	struct hv_err *err = recording_remove(&r->recording);

	if (!err && r->probed.len_bytes)
		err = record_probes_remove(&r->session.client, r->probed.data);
	return in_domain_of(r, err);
}

/* Streaming. */

/* The tracer cannot be changed while a file that consumes events is open, so these files are opened
 * afterwards and closed before the tracer is reset. */
static struct hv_err *open_events(struct record *r)
{
	HV_AUTO_FREE char *pipe = hv_format("%s/trace_pipe", r->recording.dir);
	struct hv_err *err;

	if (has_file(r))
		return recording_open(&r->recording);
	err = client_open(&r->session.client, pipe, O_RDONLY, &r->pipe);
	return err ? hv_err_in(err, "domain '%s': trace_pipe", r->request->spec) : NULL;
}

static struct hv_err *close_events(struct record *r)
{
	if (has_file(r))
		return recording_close(&r->recording);
	return client_close_file(&r->session.client, r->pipe);
}

static struct hv_err *print_some(struct record *r, uint32_t wait_ms, bool *ret_more)
{
	struct hv_span data;
	struct hv_err *err = client_read(&r->session.client, r->pipe, wait_ms, &data);

	*ret_more = false;
	if (err && err->code == EAGAIN) {
		hv_err_free(err);
		return NULL;
	}
	if (err || !data.len_bytes)
		return err;
	*ret_more = true;
	r->out_error = put_out(data.data, data.len_bytes);
	return NULL;
}

/* Sets *RET_MORE to false if no data arrived within WAIT_MS or the file is at its end. */
static struct hv_err *stream_once(struct record *r, uint32_t wait_ms, bool *ret_more)
{
	if (has_file(r))
		return recording_take(&r->recording, wait_ms, ret_more);
	return print_some(r, wait_ms, ret_more);
}

static uint32_t turn_ms(const struct record *r, uint64_t until_ns)
{
	uint64_t now = hv_now_ns();
	uint64_t left_ms = until_ns > now ? (until_ns - now) / 1000000 + 1 : 0;

	return r->request->for_ns && left_ms < TURN_MS ? (uint32_t)left_ms : TURN_MS;
}

/* Events on the terminal show progress themselves, except histograms, which appear at the end. A
 * command may use the terminal. */
static bool is_quiet(const struct record *r)
{
	const struct record_file *f = &r->recording.file;

	return has_file(r) && !r->command.pid &&
	       !(f->is_stdout && f->target.format->suffix && isatty(STDOUT_FILENO));
}

/* Takes the events recorded before tracing ended. Bounded, because a compromised session could send
 * forever. */
static struct hv_err *take_rest(struct record *r)
{
	uint64_t until_ns = hv_now_ns() + REST_MAX_NS;
	struct hv_err *err = NULL;
	bool more = true;

	while (!err && more && !r->out_error && hv_now_ns() < until_ns)
		err = stream_once(r, DRAIN_MS, &more);
	if (!err && more && !r->out_error)
		err = in_domain_of(
			r, hv_err_new(ETIMEDOUT,
				      "the session still sends events although tracing has ended"));
	return err;
}

static struct hv_err *stream(struct record *r)
{
	uint64_t until = hv_now_ns() + r->request->for_ns;
	struct progress progress = {0};
	struct hv_err *no_room = NULL;
	struct hv_err *err = NULL;
	bool more;

	if (is_quiet(r))
		progress_begin(&progress, r->request->for_ns, "recording", r->request->spec);
	while (!err && !no_room && !caught_signal && !r->out_error &&
	       !record_command_has_ended(&r->command) &&
	       !(r->request->for_ns && hv_now_ns() >= until)) {
		err = stream_once(r, turn_ms(r, until), &more);
		if (!err && has_file(r))
			no_room = record_file_check_room(&r->recording.file);
	}
	progress_end(&progress);
	if (!err)
		err = in_domain_of(r, recording_stop(&r->recording));
	if (!err)
		err = take_rest(r);
	hv_err_keep_first(&err, no_room);
	return err;
}

/* Prints the longest section or wait to standard output, or to standard error if standard output is
 * the file or is for programs. */
static struct hv_err *print_section(struct record *r)
{
	int fd = r->recording.file.is_stdout || r->request->is_json ? STDERR_FILENO : STDOUT_FILENO;
	const char *tracer = r->request->settings.tracer, *dir = r->recording.dir;
	struct hv_err *err;

	if (!record_section_has(tracer) || r->out_error)
		return NULL;
	err = record_section_longest_us(&r->session.client, dir, &r->summary.longest_us);
	if (!err)
		err = record_section_print(&r->session.client, dir, fd, &r->out_error);
	r->summary.has_section = 1;
	r->summary.longest = record_section_noun(tracer);
	return in_domain_of(r, err);
}

static struct hv_err *trace(struct record *r)
{
	struct hv_err *err = put_settings(r);

	if (err || caught_signal)
		return err;
	err = open_events(r);
	if (!err)
		err = in_domain_of(r, recording_start(&r->recording));
	if (!err)
		err = record_command_start(&r->command);
	if (!err)
		err = stream(r);
	if (!err)
		err = print_section(r);
	if (!err)
		err = in_domain_of(
			r, summary_count(&r->summary, &r->session.client, r->recording.dir));
	record_apart_stop_command(&r->errand, &r->command);
	hv_err_keep_first(&err, close_events(r));
	return err;
}

static void put_summary(struct record *r)
{
	const struct record_file *f = &r->recording.file;
	const char *file = f->target.to ? NULL : f->target.path;
	HV_AUTO_FREE char *json = r->request->is_json ? summary_json(&r->summary, r->request->spec,
								     file, f->host.path)
						      : NULL;
	HV_AUTO_FREE char *line = summary_line(
		&r->summary, r->request->settings.pids.len_bytes ? " by a task of -P" : "");

	if (json)
		r->out_error = put_out(json, strlen(json));
	else
		note(line);
}

static struct hv_err *record(const struct cli *cli, struct record *r)
{
	struct hv_err *err = own_session_open(cli, r->request->spec, &r->session);

	/* The command has all rights; the service's answers are parsed without rights. */
	if (!err)
		err = record_command_prepare(&r->command);
	if (!err)
		err = record_apart_begin(&r->errand, &r->recording.file, &r->command);
	if (!err)
		err = own_session_set_budget(&r->session, r->request->max_overhead_ppm);
	if (!err)
		err = summary_begin(&r->summary, &r->session.client);
	if (err)
		return err;
	err = trace(r);
	hv_err_keep_first(&err, record_file_end(&r->recording.file));
	hv_err_keep_first(&err, remove_settings(r));
	if (!err)
		err = summary_end(&r->summary, &r->session.client);
	if (!err && r->summary.counted && !r->out_error)
		put_summary(r);
	hv_err_keep_first(&err, own_session_end(&r->session));
	hv_err_keep_first(&err, record_command_result(&r->command));
	return err;
}

/* Returns EXIT_OK, or prints the problem and returns EXIT_USAGE. */
static int check_settings(const struct cli *cli, const struct record_request *q)
{
	const struct record_settings *s = &q->settings;
	int exit_code;

	if (!s->tracer && !record_settings_have_events(s))
		return usage_error(cli, "-p TRACER, -e EVENT, -k PROBE or --marks is needed, as in "
					"`-p function`");
	exit_code = s->tracer ? usage_tracer(cli, s->tracer) : EXIT_OK;
	if (exit_code != EXIT_OK)
		return exit_code;
	if ((s->graph.len_bytes || s->reports_host) &&
	    (!s->tracer || strcmp(s->tracer, "function_graph") != 0))
		return usage_error(cli, "%s needs -p function_graph",
				   s->reports_host ? "--host-time" : "-g");
	if (q->for_ns && q->command)
		return usage_error(cli, "give either --for=DURATION or -- COMMAND");
	return EXIT_OK;
}

/* Like check_settings(), for the target. Also chooses the format of FILE. */
static int choose_format(const struct cli *cli, const struct record_request *q,
			 struct record_file *file)
{
	const struct record_target *t = &q->target;
	HV_AUTO_TEXT struct hv_text why = {0};

	if (!t->path && (q->format || t->compression))
		return usage_error(cli, "%s needs -o FILE", q->format ? "--format" : "--compress");
	if (q->is_json && (!t->path || strcmp(t->path, "-") == 0))
		return usage_error(cli, "--json needs -o FILE: standard output is for the events");
	if (!t->path && t->has_date)
		return usage_error(cli, "--date needs -o FILE");
	if (!t->path || t->to || record_file_choose(file, q->format, &why))
		return EXIT_OK;
	return usage_error(cli, "%s", why.data);
}

int record_run(struct cli *cli, const struct record_request *q)
{
	hv_cleanup(record_deinit) struct record r = {
		.request = q,
		.session = OWN_SESSION_NONE,
		.errand = ERRAND_NONE,
		.command = RECORD_COMMAND_NONE,
	};
	struct record_file *file = &r.recording.file;
	struct hv_err *err;
	int exit_code;

	r.command.words = q->command;
	recording_init(&r.recording, &q->target);
	exit_code = check_settings(cli, q);
	if (exit_code == EXIT_OK)
		exit_code = choose_format(cli, q, file);
	if (exit_code != EXIT_OK)
		return exit_code;
	stop_signals_catch();
	signal(SIGXFSZ, SIG_IGN); /* writes return EFBIG instead */
	err = file->target.path ? record_file_open(file) : NULL;
	if (!err)
		err = record(cli, &r);
	exit_code = fail_if(err);
	if (!err && caught_signal)
		stop_signals_die(caught_signal);
	if (!err && r.out_error == EPIPE)
		stop_signals_die(SIGPIPE);
	return r.out_error ? EXIT_FAILED : exit_code;
}
