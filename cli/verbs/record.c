/* hvtrace record: traces for a while, with settings of its own, and puts them back. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "cli/client.h"
#include "cli/duration.h"
#include "cli/service/service.h"
#include "cli/verbs/verb.h"

#define TURN_MS	 100 /* how often a signal, the time and the command are looked at */
#define STOP_MS	 2000
#define DRAIN_MS 300 /* longer than what a reader waits for to sort */

/* The only thing a signal handler touches. */
static volatile sig_atomic_t caught_signal;

static void on_signal(int signo)
{
	caught_signal = signo;
}

struct record {
	const char *spec;
	const char *tracer;
	struct hv_text filter; /* globs, a blank before each */
	struct hv_text notrace;
	struct hv_text graph;
	struct hv_text pids;
	uint64_t for_ns; /* 0: until COMMAND ends */
	char **command;	 /* NULL: for a time */

	struct client client;
	bool attached_here;
	int out_error;	  /* 0: what comes goes to stdout */
	char *tracing_on; /* as it was; NULL: nothing was set yet */
	pid_t pid;	  /* of COMMAND; 0: not running */
	int status;	  /* of COMMAND, when it has run */
};

static void record_deinit(struct record *r)
{
	client_close(&r->client);
	hv_text_deinit(&r->filter);
	hv_text_deinit(&r->notrace);
	hv_text_deinit(&r->graph);
	hv_text_deinit(&r->pids);
	free(r->tracing_on);
}

/* Settings. */

/* TEXT NULL: emptied. */
static struct hv_err *set(struct record *r, const char *file, const char *text)
{
	struct hv_err *err = client_echo(&r->client, file, text);

	return err && err->code != ECONNRESET ? hv_err_in(err, "domain '%s'", r->spec) : err;
}

static struct hv_err *get_line(struct record *r, const char *file, char **ret)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = client_get(&r->client, file, &text);

	if (err)
		return err;
	hv_text_add(&text, "");
	text.data[strcspn(text.data, "\n")] = '\0';
	*ret = hv_text_take(&text);
	return NULL;
}

/* Somebody else's tracing is not taken over. */
static struct hv_err *refuse_busy(struct record *r)
{
	HV_AUTO_FREE char *tracer = NULL;
	struct hv_err *err = get_line(r, "current_tracer", &tracer);

	if (err || strcmp(tracer, "nop") == 0)
		return err;
	return hv_err_new(EBUSY,
			  "domain '%s': tracer '%s' is set already: `hvtrace echo %s "
			  "current_tracer nop` ends it",
			  r->spec, tracer, r->spec);
}

static struct hv_err *put_settings(struct record *r)
{
	struct hv_err *err = get_line(r, "tracing_on", &r->tracing_on);

	if (!err)
		err = set(r, "tracing_on", "0");
	if (!err)
		err = set(r, "set_ftrace_filter", r->filter.data);
	if (!err)
		err = set(r, "set_ftrace_notrace", r->notrace.data);
	if (!err)
		err = set(r, "set_graph_function", r->graph.data);
	if (!err)
		err = set(r, "set_ftrace_pid", r->pids.data);
	if (!err)
		err = set(r, "current_tracer", r->tracer);
	return err;
}

/* Each is tried whatever the others say; the first error is returned. */
static struct hv_err *restore_settings(struct record *r)
{
	struct hv_err *first = NULL;

	if (!r->tracing_on)
		return NULL;
	hv_err_keep_first(&first, set(r, "current_tracer", "nop"));
	hv_err_keep_first(&first, set(r, "set_ftrace_filter", NULL));
	hv_err_keep_first(&first, set(r, "set_ftrace_notrace", NULL));
	hv_err_keep_first(&first, set(r, "set_graph_function", NULL));
	hv_err_keep_first(&first, set(r, "set_ftrace_pid", NULL));
	hv_err_keep_first(&first, set(r, "tracing_on", r->tracing_on));
	return first;
}

/* The session. */

static struct hv_err *start_session(const struct cli *cli, struct record *r)
{
	struct service_config config = {
		.spec = r->spec,
		.libvirt_uri = cli->libvirt_uri,
		.run_dir = cli->run_dir,
		.sink = cli->sink,
	};
	HV_AUTO_FREE char *line = NULL;
	struct wire_frame answer;
	struct hv_err *err = service_start(&config, &line);

	if (!err)
		err = client_connect(cli->run_dir, r->spec, cli->libvirt_uri, &r->client);
	if (err)
		return err;
	r->attached_here = true;
	note(line);
	return client_call(&r->client, &(struct wire_frame){.kind = WIRE_OWN}, &answer);
}

static struct hv_err *find_session(const struct cli *cli, struct record *r)
{
	struct hv_err *why = NULL;
	bool found;
	struct hv_err *err =
		client_find(cli->run_dir, r->spec, cli->libvirt_uri, &found, &r->client, &why);

	hv_err_free(why);
	if (err || found)
		return err;
	return start_session(cli, r);
}

static struct hv_err *end_session(struct record *r)
{
	struct wire_frame answer;

	if (!r->attached_here)
		return NULL;
	r->client.on_note = note;
	return client_call(&r->client, &(struct wire_frame){.kind = WIRE_DETACH}, &answer);
}

/* The command. */

static struct hv_err *start_command(struct record *r)
{
	int err_pipe[2];
	ssize_t n;
	int code;

	if (!r->command)
		return NULL;
	if (pipe2(err_pipe, O_CLOEXEC) != 0)
		return hv_err_new(errno, "pipe: %s", strerror(errno));
	r->pid = fork();
	if (r->pid == 0) {
		signal(SIGINT, SIG_DFL);
		signal(SIGTERM, SIG_DFL);
		signal(SIGHUP, SIG_DFL);
		signal(SIGPIPE, SIG_DFL);
		/* Standard output is the trace's. */
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(r->command[0], r->command);
		code = errno;
		n = write(err_pipe[1], &code, sizeof(code));
		_exit(127 + (n < 0));
	}
	close(err_pipe[1]);
	do
		n = read(err_pipe[0], &code, sizeof(code));
	while (n < 0 && errno == EINTR);
	close(err_pipe[0]);
	if (n != sizeof(code))
		return NULL;
	waitpid(r->pid, NULL, 0);
	r->pid = 0;
	return hv_err_new(code, "command '%s': %s", r->command[0], strerror(code));
}

static bool command_has_ended(struct record *r)
{
	if (!r->pid || waitpid(r->pid, &r->status, WNOHANG) != r->pid)
		return false;
	r->pid = 0;
	return true;
}

/* By force when it does not heed the polite way for STOP_MS. */
static void stop_command(struct record *r)
{
	uint64_t until = hv_now_ns() + STOP_MS * 1000000ull;

	if (!r->pid)
		return;
	kill(r->pid, SIGTERM);
	while (!command_has_ended(r) && hv_now_ns() < until)
		poll(NULL, 0, 20);
	if (r->pid) {
		kill(r->pid, SIGKILL);
		while (waitpid(r->pid, &r->status, 0) < 0 && errno == EINTR)
			;
	}
	r->pid = 0;
	r->status = 0;
}

static struct hv_err *command_result(const struct record *r)
{
	if (!r->command || !r->status)
		return NULL;
	if (WIFSIGNALED(r->status))
		return hv_err_new(ECHILD, "command '%s': died of signal %d", r->command[0],
				  WTERMSIG(r->status));
	return hv_err_new(ECHILD, "command '%s': exit status %d", r->command[0],
			  WEXITSTATUS(r->status));
}

/* Streaming. */

/* *RET_MORE false: nothing came within WAIT_MS, or the file is at its end. */
static struct hv_err *stream_once(struct record *r, uint32_t handle, uint32_t wait_ms,
				  bool *ret_more)
{
	struct hv_span data;
	struct hv_err *err = client_read(&r->client, handle, wait_ms, &data);

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

static uint32_t turn_ms(const struct record *r, uint64_t until_ns)
{
	uint64_t now = hv_now_ns();
	uint64_t left_ms = until_ns > now ? (until_ns - now) / 1000000 + 1 : 0;

	return r->for_ns && left_ms < TURN_MS ? (uint32_t)left_ms : TURN_MS;
}

static struct hv_err *stream(struct record *r, uint32_t handle)
{
	uint64_t until = hv_now_ns() + r->for_ns;
	struct hv_err *err = NULL;
	bool more;

	while (!err && !caught_signal && !r->out_error && !command_has_ended(r) &&
	       !(r->for_ns && hv_now_ns() >= until))
		err = stream_once(r, handle, turn_ms(r, until), &more);
	if (err)
		return err;
	err = set(r, "tracing_on", "0");
	more = true;
	while (!err && more && !r->out_error)
		err = stream_once(r, handle, DRAIN_MS, &more);
	return err;
}

static struct hv_err *trace(struct record *r)
{
	uint32_t handle;
	struct hv_err *err = put_settings(r);

	if (err || caught_signal)
		return err;
	/* A tracer cannot be chosen while a pipe is open: it opens after, and closes before. */
	err = client_open(&r->client, "trace_pipe", O_RDONLY, &handle);
	if (err)
		return hv_err_in(err, "domain '%s': trace_pipe", r->spec);
	err = set(r, "tracing_on", "1");
	if (!err)
		err = start_command(r);
	if (!err)
		err = stream(r, handle);
	stop_command(r);
	hv_err_keep_first(&err, client_close_file(&r->client, handle));
	return err;
}

static struct hv_err *record(const struct cli *cli, struct record *r)
{
	struct hv_err *err = find_session(cli, r);

	if (err)
		return err;
	err = refuse_busy(r);
	if (err) {
		hv_err_keep_first(&err, end_session(r));
		return err;
	}
	err = trace(r);
	hv_err_keep_first(&err, restore_settings(r));
	hv_err_keep_first(&err, end_session(r));
	hv_err_keep_first(&err, command_result(r));
	return err;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* After everything is as before, a signal does what it was sent for. */
static void die_of(int signo)
{
	signal(signo, SIG_DFL);
	raise(signo);
}

/* Options. */

static bool add_pid(struct record *r, const char *text)
{
	char *end;
	unsigned long pid = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || pid > INT32_MAX)
		return false;
	hv_text_printf(&r->pids, "%s%lu", r->pids.len_bytes ? " " : "", pid);
	return true;
}

static void add_glob(struct hv_text *t, const char *glob)
{
	hv_text_printf(t, "%s%s", t->len_bytes ? " " : "", glob);
}

/* False: return *RET_EXIT. */
static bool take_option(struct cli *cli, struct record *r, int option, int *ret_exit)
{
	*ret_exit = EXIT_OK;
	if (option == 'p')
		r->tracer = optarg;
	else if (option == 'l')
		add_glob(&r->filter, optarg);
	else if (option == 'n')
		add_glob(&r->notrace, optarg);
	else if (option == 'g')
		add_glob(&r->graph, optarg);
	else if (option == 'P' && !add_pid(r, optarg))
		*ret_exit = usage_error(cli, "-P: '%s' is no process id", optarg);
	else if (option == 'f' && !duration_parse(optarg, &r->for_ns))
		*ret_exit = usage_error(
			cli, "--for: '%s' is no duration: write 2, 1.5s, 500ms, 1m or 1h", optarg);
	return *ret_exit == EXIT_OK;
}

static bool parse(struct cli *cli, int argc, char **argv, struct record *r, int *ret_exit)
{
	static const struct option longs[] = {
		{"for", required_argument, NULL, 'f'},
		{0},
	};
	int option;

	while ((option = verb_option(cli, argc, argv, "p:l:n:g:P:", longs, ret_exit)) != -1)
		if (option == VERB_OPTION_STOP || !take_option(cli, r, option, ret_exit))
			return false;
	if (cli->nr_operands > 1) {
		*ret_exit = usage_error(cli, "a command stands after `--`: '%s'", argv[optind + 1]);
		return false;
	}
	if (!cli->nr_operands) {
		*ret_exit = usage_error(cli, "missing operands: wanted: %s", cli->verb->args);
		return false;
	}
	r->spec = argv[optind];
	r->command = optind + 1 < argc ? argv + optind + 1 : NULL;
	return true;
}

static int run(struct cli *cli, int argc, char **argv)
{
	hv_cleanup(record_deinit) struct record r = {.client = CLIENT_NONE};
	struct hv_err *err;
	int exit_code;

	if (!parse(cli, argc, argv, &r, &exit_code))
		return exit_code;
	if (!r.tracer)
		return usage_error(cli, "-p TRACER is needed, as in `-p function`");
	exit_code = usage_tracer(cli, r.tracer);
	if (exit_code != EXIT_OK)
		return exit_code;
	if (r.graph.len_bytes && strcmp(r.tracer, "function_graph") != 0)
		return usage_error(cli, "-g is for -p function_graph");
	if (!r.for_ns == !r.command)
		return usage_error(cli, "either --for=DURATION or -- COMMAND says for how long");
	if (!have_root(cli))
		return EXIT_FAILED;
	catch_signals();
	err = record(cli, &r);
	exit_code = fail_if(err);
	if (!err && caught_signal)
		die_of(caught_signal);
	if (!err && r.out_error == EPIPE)
		die_of(SIGPIPE);
	return r.out_error ? EXIT_FAILED : exit_code;
}

static const char help[] =
	"Attaches if there is no session, and then detaches at the end. COMMAND runs on this\n"
	"host; its standard output becomes its standard error.\n\n"
	"  -p TRACER              as in available_tracers\n"
	"  -l GLOB                trace only these functions\n"
	"  -n GLOB                do not trace these\n"
	"  -g GLOB                function_graph: only these and what they call\n"
	"  -P PID                 trace only this task of the guest\n"
	"  --for=DURATION         2, 1.5s, 500ms, 1m, 1h\n";

const struct verb verb_record = {
	.name = "record",
	.args = "-p TRACER [-l GLOB]... [-n GLOB]... [-g GLOB]... [-P PID]... DOMAIN "
		"(--for=DURATION | -- COMMAND...)",
	.summary = "Trace for a while, to standard output, and put the settings back",
	.help = help,
	.run = run,
};
