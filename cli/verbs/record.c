/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace record: traces for some time, with settings of its own. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/duration.h"
#include "cli/percent.h"
#include "cli/progress.h"
#include "cli/verbs/own_session.h"
#include "cli/verbs/record.h"
#include "cli/verbs/record/apart.h"
#include "cli/verbs/record/command.h"
#include "cli/verbs/record/file.h"
#include "cli/verbs/record/probes.h"
#include "cli/verbs/record/section.h"
#include "cli/verbs/record/settings.h"
#include "cli/verbs/summary.h"
#include "cli/verbs/verb.h"

#define TURN_MS	    100 /* how often it looks for signals, the time, and the command's end */
#define REST_MAX_NS (600 * HV_NS_PER_S)
#define DRAIN_MS    300 /* longer than a reader waits for records that are being written */

/* The only variable that a signal handler writes. */
static volatile sig_atomic_t caught_signal;

static void on_signal(int signo)
{
	caught_signal = signo;
}

struct record {
	const char *spec;
	bool is_json;	    /* the last line is an object on standard output */
	const char *format; /* as given; NULL: by the name of the file */
	struct record_settings settings;
	uint64_t max_overhead_ppm; /* 0: no limit */
	uint64_t for_ns;	   /* 0: until COMMAND ends, or a signal comes */
	struct record_command command;

	struct own_session session;
	struct errand errand;
	struct record_dial *dial; /* borrowed; NULL: no stream by TCP */
	struct summary summary;
	struct record_file file; /* without a path: events go to stdout as text */
	uint32_t pipe;		 /* then: the handle of trace_pipe */
	int out_error;		 /* 0: events are written to stdout */
};

static void record_deinit(struct record *r)
{
	own_session_close(&r->session);
	record_command_deinit(&r->command);
	record_file_deinit(&r->file);
	errand_end(&r->errand);
	summary_deinit(&r->summary);
	record_settings_deinit(&r->settings);
}

static struct hv_err *in_domain_of(const struct record *r, struct hv_err *err)
{
	return err && err->code != ECONNRESET ? hv_err_in(err, "domain '%s'", r->spec) : err;
}

static struct hv_err *set(struct record *r, const char *file, const char *text)
{
	return in_domain_of(r, record_settings_set(&r->settings, &r->session.client, file, text));
}

/* Tells the lines of NOTES on standard error. */
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
	HV_AUTO_TEXT struct hv_text notes = {0};
	struct hv_err *err = record_settings_put(&r->settings, &r->session.client, &notes);

	r->summary.has_own = record_settings_have_events(&r->settings);
	r->summary.has_names = r->settings.tracer && r->settings.filter.len_bytes;
	if (err)
		return in_domain_of(r, err);
	note_lines(&notes);
	return NULL;
}

static struct hv_err *restore_settings(struct record *r)
{
	return in_domain_of(r, record_settings_restore(&r->settings, &r->session.client));
}

/* Streaming. */

/* The tracer cannot be changed while a file that takes events is open, so these are opened after
 * that and closed before. */
static struct hv_err *open_events(struct record *r)
{
	HV_AUTO_FREE char *pipe = hv_format("%s/trace_pipe", r->settings.dir);
	struct hv_err *err;

	if (r->file.path)
		return record_file_begin(&r->file, &r->session.client, r->settings.dir);
	err = client_open(&r->session.client, pipe, O_RDONLY, &r->pipe);
	return err ? hv_err_in(err, "domain '%s': trace_pipe", r->spec) : NULL;
}

static struct hv_err *close_events(struct record *r)
{
	if (r->file.path)
		return record_file_close(&r->file, &r->session.client);
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

/* *RET_MORE is false if nothing came within WAIT_MS or the file is at its end. */
static struct hv_err *stream_once(struct record *r, uint32_t wait_ms, bool *ret_more)
{
	if (r->file.path)
		return record_file_take(&r->file, &r->session.client, wait_ms, ret_more);
	return print_some(r, wait_ms, ret_more);
}

static uint32_t turn_ms(const struct record *r, uint64_t until_ns)
{
	uint64_t now = hv_now_ns();
	uint64_t left_ms = until_ns > now ? (until_ns - now) / 1000000 + 1 : 0;

	return r->for_ns && left_ms < TURN_MS ? (uint32_t)left_ms : TURN_MS;
}

/* Events on the terminal are progress themselves, but for histograms, which come at the end. A
 * command may use the terminal. */
static bool is_quiet(const struct record *r)
{
	const struct record_file *f = &r->file;

	return f->path && !r->command.pid &&
	       !(f->is_stdout && f->format->suffix && isatty(STDOUT_FILENO));
}

/* Takes what was recorded before tracing ended. A session that was taken over sends for ever. */
static struct hv_err *take_rest(struct record *r)
{
	uint64_t until_ns = hv_now_ns() + REST_MAX_NS;
	struct hv_err *err = NULL;
	bool more = true;

	while (!err && more && !r->out_error && hv_now_ns() < until_ns)
		err = stream_once(r, DRAIN_MS, &more);
	if (!err && more && !r->out_error)
		err = in_domain_of(r, hv_err_new(ETIMEDOUT, "the session does not end to send "
							    "events, although tracing has ended"));
	return err;
}

static struct hv_err *stream(struct record *r)
{
	uint64_t until = hv_now_ns() + r->for_ns;
	struct progress progress = {0};
	struct hv_err *no_room = NULL;
	struct hv_err *err = NULL;
	bool more;

	if (is_quiet(r))
		progress_begin(&progress, r->for_ns, "recording", r->spec);
	while (!err && !no_room && !caught_signal && !r->out_error &&
	       !record_command_has_ended(&r->command) && !(r->for_ns && hv_now_ns() >= until)) {
		err = stream_once(r, turn_ms(r, until), &more);
		if (!err && r->file.path)
			no_room = record_file_check_room(&r->file);
	}
	progress_end(&progress);
	if (!err)
		err = set(r, "tracing_on", "0");
	if (!err)
		err = take_rest(r);
	hv_err_keep_first(&err, no_room);
	return err;
}

/* Prints the longest section or wait to standard output, or to standard error if that is the file
 * or for programs. */
static struct hv_err *print_section(struct record *r)
{
	int fd = r->file.is_stdout || r->is_json ? STDERR_FILENO : STDOUT_FILENO;
	struct hv_err *err;

	if (!record_section_has(r->settings.tracer) || r->out_error)
		return NULL;
	err = record_section_longest_us(&r->session.client, r->settings.dir,
					&r->summary.longest_us);
	if (!err)
		err = record_section_print(&r->session.client, r->settings.dir, fd, &r->out_error);
	r->summary.has_section = 1;
	r->summary.longest = record_section_noun(r->settings.tracer);
	return in_domain_of(r, err);
}

static struct hv_err *trace(struct record *r)
{
	struct hv_err *err = put_settings(r);

	if (err || caught_signal)
		return err;
	err = open_events(r);
	if (!err)
		err = set(r, "tracing_on", "1");
	if (!err)
		err = record_command_start(&r->command);
	if (!err)
		err = stream(r);
	if (!err)
		err = print_section(r);
	if (!err)
		err = in_domain_of(r,
				   summary_count(&r->summary, &r->session.client, r->settings.dir));
	record_apart_stop_command(&r->errand, &r->command);
	hv_err_keep_first(&err, close_events(r));
	return err;
}

static void put_summary(struct record *r)
{
	const char *file = r->file.to ? NULL : r->file.path;
	HV_AUTO_FREE char *json =
		r->is_json ? summary_json(&r->summary, r->spec, file, r->file.host.path) : NULL;
	HV_AUTO_FREE char *line =
		summary_line(&r->summary, r->settings.pids.len_bytes ? " by a task of -P" : "");

	if (json)
		r->out_error = put_out(json, strlen(json));
	else
		note(line);
}

static struct hv_err *record(const struct cli *cli, struct record *r)
{
	struct hv_err *err = own_session_open(cli, r->spec, &r->session);

	/* COMMAND has all rights; what the service answers is read without. */
	if (!err)
		err = record_command_prepare(&r->command);
	if (!err)
		err = record_apart_begin(&r->errand, &r->file, &r->command, r->dial);
	if (!err)
		err = own_session_set_budget(&r->session, r->max_overhead_ppm);
	if (!err)
		err = summary_begin(&r->summary, &r->session.client);
	if (err)
		return err;
	err = trace(r);
	hv_err_keep_first(&err, record_file_end(&r->file));
	hv_err_keep_first(&err, restore_settings(r));
	if (!err)
		err = summary_end(&r->summary, &r->session.client);
	if (!err && r->summary.counted && !r->out_error)
		put_summary(r);
	hv_err_keep_first(&err, own_session_end(&r->session));
	hv_err_keep_first(&err, record_command_result(&r->command));
	return err;
}

static void catch_signals(void)
{
	/* The same signal a second time ends the process at once: a session may not answer. What
	 * this process has set ends with its connection. */
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write returns EFBIG */
}

/* All settings are restored; now the signal ends the process as its sender wanted. */
static void die_of(int signo)
{
	signal(signo, SIG_DFL);
	raise(signo);
}

/* Options. */

/* False: return *RET_EXIT. */
static bool take_option(struct cli *cli, struct record *r, int option, int *ret_exit)
{
	struct record_settings *s = &r->settings;

	*ret_exit = EXIT_OK;
	if (option == 'p')
		s->tracer = optarg;
	else if (option == 'l')
		record_settings_add_glob(&s->filter, optarg);
	else if (option == 'n')
		record_settings_add_glob(&s->notrace, optarg);
	else if (option == 'g')
		record_settings_add_glob(&s->graph, optarg);
	else if (option == 'e')
		record_settings_add_event(s, optarg);
	else if (option == 'k')
		record_settings_add_probe(s, optarg);
	else if (option == 'M')
		record_settings_add_probe(s, RECORD_PROBES_MARK);
	else if (option == 'f' && !s->event)
		*ret_exit = usage_error(cli, "-f: give it after the -e EVENT that it is for");
	else if (option == 'f')
		record_filters_add(&s->event_filters, s->event, optarg);
	else if (option == 'P' && !record_settings_add_pid(s, optarg))
		*ret_exit = usage_error(cli, "-P: '%s' is not a process id", optarg);
	else if (option == 'o')
		r->file.path = optarg;
	else if (option == 'j')
		r->is_json = true;
	else if (option == 'H')
		s->tells_host = true;
	else if (option == 'D')
		r->file.has_date = true;
	else if (option == 'F')
		r->format = optarg;
	else if (option == 'C')
		r->file.compression = HV_COMPRESSION_ZSTD;
	else if (option == 'T' && !duration_parse(optarg, &r->for_ns))
		*ret_exit = usage_error(cli, "--for: '%s' is not " DURATION_WANTED, optarg);
	else if (option == 'O' && !percent_parse(optarg, &r->max_overhead_ppm))
		*ret_exit = usage_error(cli, "--max-overhead: '%s' is not " PERCENT_WANTED, optarg);
	return *ret_exit == EXIT_OK;
}

static bool parse(struct cli *cli, int argc, char **argv, struct record *r, int *ret_exit)
{
	static const struct option longs[] = {
		RECORD_LONGS,
		{"format", required_argument, NULL, 'F'},
		{"compress", no_argument, NULL, 'C'},
		{0},
	};
	int option;

	while ((option = verb_option(cli, argc, argv, RECORD_LETTERS "o:", longs, ret_exit)) != -1)
		if (option == VERB_OPTION_STOP || !take_option(cli, r, option, ret_exit))
			return false;
	if (cli->nr_operands > 1) {
		*ret_exit =
			usage_error(cli, "write `--` before the command: '%s'", argv[optind + 1]);
		return false;
	}
	if (!cli->nr_operands) {
		*ret_exit = usage_error(cli, "missing operands: wanted: DOMAIN");
		return false;
	}
	r->spec = argv[optind];
	r->command.words = optind + 1 < argc ? argv + optind + 1 : NULL;
	return true;
}

/* Returns EXIT_OK, or prints what is wrong and returns EXIT_USAGE. */
static int choose_format(const struct cli *cli, struct record *r)
{
	HV_AUTO_TEXT struct hv_text why = {0};

	if (!r->file.path && (r->format || r->file.compression))
		return usage_error(cli, "%s needs -o FILE", r->format ? "--format" : "--compress");
	if (r->is_json && (!r->file.path || strcmp(r->file.path, "-") == 0))
		return usage_error(cli, "--json needs -o FILE: standard output is for the events");
	if (!r->file.path && r->file.has_date)
		return usage_error(cli, "--date needs -o FILE");
	if (!r->file.path || r->file.to || record_file_choose(&r->file, r->format, &why))
		return EXIT_OK;
	return usage_error(cli, "%s", why.data);
}

/* FILE is where events go, as far as it is known before the options are. DIAL as in
 * record_apart_begin(). PAIRS as in record_pairs(); NULL: none. */
static int record_into(struct cli *cli, int argc, char **argv, const struct record_file *file,
		       struct record_dial *dial, const char *pairs)
{
	hv_cleanup(record_deinit) struct record r = {
		.session = OWN_SESSION_NONE,
		.errand = ERRAND_NONE,
		.command = RECORD_COMMAND_NONE,
		.dial = dial,
		.file = *file,
	};
	struct hv_err *err;
	int exit_code;

	r.settings.pairs = pairs;
	if (!parse(cli, argc, argv, &r, &exit_code))
		return exit_code;
	if (!r.settings.tracer && !record_settings_have_events(&r.settings))
		return usage_error(cli, "-p TRACER, -e EVENT, -k PROBE or --marks is needed, as in "
					"`-p function`");
	exit_code = r.settings.tracer ? usage_tracer(cli, r.settings.tracer) : EXIT_OK;
	if (exit_code != EXIT_OK)
		return exit_code;
	if ((r.settings.graph.len_bytes || r.settings.tells_host) &&
	    (!r.settings.tracer || strcmp(r.settings.tracer, "function_graph") != 0))
		return usage_error(cli, "%s needs -p function_graph",
				   r.settings.tells_host ? "--host-time" : "-g");
	if (r.for_ns && r.command.words)
		return usage_error(cli, "give either --for=DURATION or -- COMMAND");
	exit_code = choose_format(cli, &r);
	if (exit_code != EXIT_OK)
		return exit_code;
	catch_signals();
	err = r.file.path ? record_file_open(&r.file) : NULL;
	if (!err)
		err = record(cli, &r);
	exit_code = fail_if(err);
	if (!err && caught_signal)
		die_of(caught_signal);
	if (!err && r.out_error == EPIPE)
		die_of(SIGPIPE);
	return r.out_error ? EXIT_FAILED : exit_code;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct record_file file = RECORD_FILE_NONE;

	return record_into(cli, argc, argv, &file, NULL, NULL);
}

int record_pairs(struct cli *cli, int argc, char **argv, const char *pairs)
{
	struct record_file file = RECORD_FILE_NONE;

	return record_into(cli, argc, argv, &file, NULL, pairs);
}

int record_to(struct cli *cli, int argc, char **argv, const struct hv_stream_to *to,
	      struct record_dial *dial, enum hv_compression compression)
{
	struct record_file file = RECORD_FILE_NONE;

	file.to = to;
	file.path = to->where;
	file.format = &hv_stream_format;
	file.compression = compression;
	return record_into(cli, argc, argv, &file, dial, NULL);
}

static const char help[] =
	"If the domain has no session, attaches first and detaches at the end. Ends after\n"
	"DURATION, when COMMAND ends, or at Ctrl-C. COMMAND runs on this host; its standard\n"
	"output goes to standard error. Settings of other users stay as they are. The last line\n"
	"on standard error says how many events there were, how many were lost, and for how\n"
	"long the guest was held.\n\n"
	"  -p TRACER              as in available_tracers; irqsoff, preemptoff, preemptirqsoff,\n"
	"                         wakeup, wakeup_rt and wakeup_dl print the longest section or\n"
	"                         wait at the end\n" RECORD_EVENT_HELP
	"  -l GLOB                trace only these functions (with the six: in sections, waits)\n"
	"  -n GLOB                do not trace these\n"
	"  -g GLOB                function_graph: only these and what they call\n"
	"  --host-time            function_graph: for how long of each call the host did not run\n"
	"                         the vCPU, as KVM tells the guest\n"
	"  -P PID                 trace only this task of the guest\n"
	"  --for=DURATION         2, 1.5s, 500ms, 1m, 1h\n"
	"  --max-overhead=PERCENT tracing takes no more of a vCPU's time: when it does, the\n"
	"                         functions that cost most are put back; the last line names them\n"
	"  -o FILE                write the events to FILE (-: standard output), in the format\n"
	"                         of its suffix: .dat (trace-cmd, KernelShark), .pftrace\n"
	"                         (Perfetto), .ctf (a directory: babeltrace2, Trace Compass),\n"
	"                         .jsonl, .txt; with .zst after .pftrace, .jsonl and .txt, FILE\n"
	"                         is compressed\n"
	"  --format=FORMAT        trace.dat, perfetto, ctf, jsonl, text or histogram (durations\n"
	"                         of function_graph's calls), whatever the name of FILE\n"
	"  --compress             compress FILE by zstd\n"
	"  -j, --json             the last line is an object on standard output\n"
	"  --date                 times in FILE are, or can be shown as, the guest's times of "
	"day\n";

const struct verb verb_record = {
	.name = "record",
	.args = RECORD_ARGS "DOMAIN [--max-overhead=PERCENT] [-o FILE [--date] [--json]] "
			    "[--for=DURATION | -- COMMAND...]",
	.summary = "Trace for a while, to standard output or a file, and put the settings back",
	.help = help,
	.run = run,
};
