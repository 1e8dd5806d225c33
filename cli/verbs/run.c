/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace run: boots a kernel in a new virtual machine, with the console on the terminal, and
 * starts a session with it as with any other guest.
 *
 * Threads: this thread answers the session's requests about the guest (run/session.h); others are
 * the console (console.h), the tracing client, and the machine's threads (vmm/minivm/minivm.h). */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/client.h"
#include "cli/explain.h"
#include "cli/parse.h"
#include "cli/rundir.h"
#include "cli/terminal.h"
#include "cli/thread.h"
#include "cli/verbs/console.h"
#include "cli/verbs/record/recording.h"
#include "cli/verbs/run/session.h"
#include "cli/verbs/verb.h"
#include "vmm/domains.h"
#include "vmm/minivm/minivm.h"

/* Waits for the machine's end, at most WAIT_MS; -1: without a limit. */
static unsigned has_ended(struct hv_minivm *vm, int wait_ms)
{
	struct pollfd fd = {hv_minivm_end_fd(vm), POLLIN, 0};

	return poll(&fd, 1, wait_ms) > 0;
}

/* -- tracing ---------------------------------------------------------------------------------- */

/* Traces a machine of `hvtrace run`. A thread, which is a client of the machine's service, sets the
 * tracer, lets the machine run, writes its trace to a file until the machine ends, and then
 * releases the machine. */

struct run_trace_config {
	const char *name;
	const char *tracer;	 /* NULL: no tracer is set */
	const char *filter;	 /* globs separated by blanks; NULL: all functions */
	const char *notrace;	 /* like filter; NULL: none */
	const char *output_path; /* NULL: other clients read the trace */
	unsigned is_stopped;	 /* the machine is stopped until all settings are made */
};

#define TURN_MS	 100 /* interval of checks for the machine's end */
#define DRAIN_MS 300 /* longer than a reader waits for records that are being written */

struct run_trace {
	struct hv_minivm *vm;
	struct run_trace_config config;
	struct client client;
	int output_fd;
	ssize_t (*put)(int fd, const void *bytes, size_t len_bytes); /* writes to output_fd */
	pthread_t thread;
	unsigned has_thread;
	struct hv_err *error;
};

static struct hv_err *set(struct run_trace *t, const char *file, const char *text)
{
	return hv_err_in(client_echo(&t->client, file, text), "domain '%s'", t->config.name);
}

static struct hv_err *set_tracer(struct run_trace *t)
{
	struct hv_err *err;

	if (!t->config.tracer)
		return NULL;
	err = set(t, "tracing_on", "0");
	if (!err && t->config.filter)
		err = set(t, "set_ftrace_filter", t->config.filter);
	if (!err && t->config.notrace)
		err = set(t, "set_ftrace_notrace", t->config.notrace);
	if (!err)
		err = set(t, "current_tracer", t->config.tracer);
	return err;
}

static struct hv_err *write_out(struct run_trace *t, struct hv_span data)
{
	for (size_t done = 0; done < data.len_bytes;) {
		ssize_t n = t->put(t->output_fd, data.data + done, data.len_bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return hv_err_new(errno, "%s: %s", t->config.output_path, strerror(errno));
		done += (size_t)n;
	}
	return NULL;
}

/* Sets *RET_MORE to 0 if no data arrived within WAIT_MS. */
static struct hv_err *write_some(struct run_trace *t, uint32_t handle, uint32_t wait_ms,
				 unsigned *ret_more)
{
	struct hv_span data = {0};
	struct hv_err *err = client_read(&t->client, handle, wait_ms, &data);

	*ret_more = 0;
	if (err && err->code == EAGAIN) {
		hv_err_free(err);
		return NULL;
	}
	if (err)
		return err;
	*ret_more = data.len_bytes != 0;
	return write_out(t, data);
}

/* Writes until the machine has ended and all of its events are written. */
static struct hv_err *write_trace(struct run_trace *t, uint32_t handle)
{
	struct hv_err *err = NULL;
	unsigned more = 1;

	while (!err && !has_ended(t->vm, 0))
		err = write_some(t, handle, TURN_MS, &more);
	if (!err)
		err = set(t, "tracing_on", "0");
	for (more = 1; !err && more;)
		err = write_some(t, handle, DRAIN_MS, &more);
	return err;
}

static void let_run(struct run_trace *t)
{
	if (t->config.is_stopped)
		hv_minivm_go(t->vm);
	t->config.is_stopped = 0;
}

static struct hv_err *trace(struct run_trace *t)
{
	uint32_t handle = 0;
	struct hv_err *err = set_tracer(t);

	if (!err && t->config.output_path)
		err = client_open(&t->client, "trace_pipe", O_RDONLY, &handle);
	if (!err && t->config.tracer)
		err = set(t, "tracing_on", "1");
	let_run(t);
	if (!err && t->config.output_path)
		err = write_trace(t, handle);
	/* `hvtrace detach` ended the session. The earlier events are written. */
	if (err && err->code == ECONNRESET && !has_ended(t->vm, 0)) {
		hv_err_free(err);
		err = NULL;
	}
	return err;
}

static void *trace_main(void *arg)
{
	struct run_trace *t = arg;

	t->error = trace(t);
	if (t->error)
		hv_minivm_stop(t->vm);
	has_ended(t->vm, -1);
	hv_minivm_let_go(t->vm);
	return NULL;
}

/* Opens the output; errors are from open(2). Does not trace yet. Borrows O and the objects that
 * CONFIG points to. */
static struct hv_err *run_trace_new(struct hv_minivm *o, const struct run_trace_config *config,
				    struct run_trace **ret)
{
	struct run_trace *t = hv_alloc(sizeof(*t));

	t->vm = o;
	t->config = *config;
	t->client = (struct client)CLIENT_NONE;
	t->output_fd = -1;
	if (config->output_path)
		t->output_fd = open(config->output_path,
				    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);
	if (config->output_path && t->output_fd < 0) {
		free(t);
		return hv_err_new(errno, "%s: %s", config->output_path, strerror(errno));
	}
	t->put = t->output_fd >= 0 && isatty(t->output_fd) ? terminal_write : write;
	/* O_NONBLOCK was only for open(), which fails for a FIFO without a reader. Writes wait for
	 * a slow reader. */
	if (t->output_fd >= 0)
		fcntl(t->output_fd, F_SETFL, fcntl(t->output_fd, F_GETFL) & ~O_NONBLOCK);
	*ret = t;
	return NULL;
}

/* Call it when the service is ready to answer on CLIENT_FD. Takes CLIENT_FD. */
static struct hv_err *run_trace_start(struct run_trace *t, int client_fd)
{
	struct rundir_info none = {0};
	struct hv_err *err = client_adopt(client_fd, t->config.name, &none, &t->client);

	if (err) {
		close(client_fd);
		return err;
	}
	err = thread_start(&t->thread, trace_main, t, "the trace");
	t->has_thread = !err;
	return err;
}

/* Call it after the machine's end. Waits until the last lines are written. Returns the thread's
 * first error, or NULL. T may be NULL. */
static struct hv_err *run_trace_free(struct run_trace *t)
{
	struct hv_err *err;

	if (!t)
		return NULL;
	if (t->has_thread)
		pthread_join(t->thread, NULL);
	err = t->error;
	client_close(&t->client);
	if (t->output_fd >= 0 && close(t->output_fd) != 0)
		hv_err_keep_first(
			&err, hv_err_new(errno, "%s: %s", t->config.output_path, strerror(errno)));
	free(t);
	return err;
}

/* -- the machine ------------------------------------------------------------------------------ */

#define APPEND_DEFAULT "console=ttyS0 reboot=k panic=-1"
#define MEMORY_DEFAULT (UINT64_C(512) << 20)
#define NAME_MAX_LEN   64

struct run {
	const struct cli *cli;
	struct hv_minivm_config machine;
	struct run_trace_config tracing;
	struct hv_text filter, notrace;
	char name[NAME_MAX_LEN + 1];
	unsigned trace_boot;
	bool has_name;	 /* the user chose NAME */
	bool is_ready;	 /* the session has begun */
	bool has_failed; /* the failure was already reported */

	struct console *console;
	struct hv_minivm *vm;
	struct run_trace *trace;
	struct run_session *session;
	struct hv_err *error; /* error from starting a thread */
};

static void stop(void *ctx)
{
	hv_minivm_stop(((struct run *)ctx)->vm);
}

static void ready(void *ctx, const char *line)
{
	struct run *r = ctx;

	r->is_ready = true;
	note(line);
	r->error = run_trace_start(r->trace, run_session_take_client(r->session));
	if (r->error) {
		hv_minivm_stop(r->vm);
		hv_minivm_let_go(r->vm);
	}
}

/* Runs the machine, and serves its session until the session ends. */
static struct hv_err *trace_machine(struct run *r)
{
	struct hv_guest *guest = hv_minivm_guest(r->vm);
	struct hv_err *err =
		r->trace_boot ? hv_minivm_run_to_kernel(r->vm) : hv_minivm_start(r->vm);

	if (!err)
		err = run_session_serve(r->session, guest, ready, r, note);
	run_session_free(hv_take(r->session));
	hv_guest_free(guest);
	hv_err_keep_first(&err, hv_take(r->error));
	return in_domain(err, r->name);
}

/* If the machine cannot be traced, it continues to run unless it was started for tracing. It also
 * continues without its session; that is an error if it was started for tracing. */
static struct hv_err *use_machine(struct run *r)
{
	struct hv_err *err = trace_machine(r);
	bool is_for_tracing = r->tracing.tracer || r->trace_boot;

	if (err && (r->is_ready || !is_for_tracing)) {
		if (!has_ended(r->vm, 0))
			note(err->message);
		r->has_failed = is_for_tracing;
		hv_err_free(err);
		err = NULL;
	}
	if (err)
		hv_minivm_stop(r->vm);
	has_ended(r->vm, -1);
	hv_err_keep_first(&err, hv_err_in(hv_minivm_end_error(r->vm), "domain '%s'", r->name));
	return err;
}

static struct hv_err *refuse_name_of_domain(const struct run *r)
{
	struct hv_domain *domains = NULL;
	struct hv_err *taken = NULL;
	size_t nr = 0;

	/* Without libvirt the list is empty, and the name is free. */
	hv_err_free(hv_domain_list(r->cli->libvirt_uri, &domains, &nr));
	for (size_t i = 0; i < nr && !taken; i++)
		if (!strcmp(domains[i].name, r->name) || !strcmp(domains[i].uuid, r->name))
			taken = hv_err_new(EEXIST,
					   "domain '%s': libvirt has a domain of this name: choose "
					   "another with --name",
					   r->name);
	hv_domain_list_free(domains, nr);
	return taken;
}

/* Refuses the name before the boot. attach checks it again. */
static struct hv_err *refuse_taken_name(const struct run *r)
{
	AUTO_RUNDIR_INFO struct rundir_info info = {0};
	bool found = false;
	struct hv_err *err = rundir_find(r->cli->run_dir, r->name, NULL, &found, &info);

	if (!err && found && info.live)
		err = hv_err_new(EBUSY,
				 "domain '%s': this name has a session already: choose another "
				 "with --name",
				 r->name);
	return err;
}

/* Removes the run directories of killed machines. Otherwise only `hvtrace recover` does that. */
static void sweep(const char *run_dir)
{
	struct rundir_info *list = NULL;
	size_t nr = 0;

	hv_err_free(rundir_list(run_dir, &list, &nr));
	for (size_t i = 0; i < nr; i++)
		if (rundir_is_dead_machine(&list[i]))
			rundir_remove_dead(run_dir, &list[i]);
	rundir_list_free(list, nr);
}

static struct hv_err *run_machine(struct run *r)
{
	const struct service_config service = {
		.spec = r->name,
		.run_dir = r->cli->run_dir,
		.conf_path = r->cli->conf_path,
		.audit_target = r->cli->audit_target,
	};
	struct hv_err *err;

	sweep(r->cli->run_dir);
	err = refuse_taken_name(r);
	if (!err && r->has_name)
		err = refuse_name_of_domain(r);
	if (!err)
		err = console_open(&r->console, &r->machine.console_in_fd);
	if (!err)
		err = hv_minivm_new(&r->machine, &r->vm);
	if (!err)
		err = run_trace_new(r->vm, &r->tracing, &r->trace);
	if (!err)
		err = run_session_new(r->vm, &service, r->trace_boot, &r->session);
	if (!err)
		err = run_session_enter_sandbox(r->session);
	if (!err)
		err = console_start(r->console, stop, r);
	return err ? err : use_machine(r);
}

/* Options. */

static void add_glob(struct hv_text *t, const char *glob)
{
	hv_text_printf(t, "%s%s", t->len_bytes ? " " : "", glob);
}

static bool is_name(const char *text)
{
	size_t len = strlen(text);

	return len && len <= NAME_MAX_LEN && text[0] != '.' && text[0] != '-' &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
		       len;
}

static bool parse_count(const char *text, unsigned *ret)
{
	if (!*text || strlen(text) > 6 || strspn(text, "0123456789") != strlen(text))
		return false;
	*ret = (unsigned)atoi(text);
	return *ret != 0;
}

enum {
	OPT_KERNEL = 256,
	OPT_INITRD,
	OPT_MEMORY,
	OPT_SMP,
	OPT_NAME,
	OPT_BOOT,
	OPT_PATCH,
	OPT_APPEND = (OPT_PATCH + 1) | VERB_MAY_BE_EMPTY
};

/* False: return *RET_EXIT. */
static bool take_machine_option(struct cli *cli, struct run *r, int option, int *ret_exit)
{
	if (option == OPT_KERNEL)
		r->machine.kernel_path = optarg;
	else if (option == OPT_INITRD)
		r->machine.initrd_path = optarg;
	else if (option == OPT_APPEND)
		r->machine.append = optarg;
	else if (option == OPT_MEMORY && !size_parse(optarg, &r->machine.memory_bytes))
		*ret_exit =
			usage_error(cli, "--memory: '%s' is not a size: write 512M or 2G", optarg);
	else if (option == OPT_SMP && !parse_count(optarg, &r->machine.nr_vcpus))
		*ret_exit = usage_error(cli, "--smp: '%s' is not a number of vCPUs", optarg);
	else if (option == OPT_NAME && !is_name(optarg))
		*ret_exit = usage_error(
			cli, "--name: '%s' is not a name: use letters, digits, '.', '_', '-'",
			optarg);
	else if (option == OPT_NAME) {
		strcpy(r->name, optarg);
		r->has_name = true;
	}
	return *ret_exit == EXIT_OK;
}

static bool take_option(struct cli *cli, struct run *r, int option, int *ret_exit)
{
	*ret_exit = EXIT_OK;
	if (option == 'p')
		r->tracing.tracer = optarg;
	else if (option == 'l')
		add_glob(&r->filter, optarg);
	else if (option == 'n')
		add_glob(&r->notrace, optarg);
	else if (option == 'o')
		r->tracing.output_path = optarg;
	else if (option == OPT_BOOT)
		r->trace_boot = 1;
	else if (option != OPT_PATCH)
		return take_machine_option(cli, r, option, ret_exit);
	else if (!service_parse_patch(optarg, &r->machine.shadow))
		*ret_exit =
			usage_error(cli, "--patch: '%s' is neither in-place nor shadow", optarg);
	return *ret_exit == EXIT_OK;
}

static bool parse(struct cli *cli, int argc, char **argv, struct run *r, int *ret_exit)
{
	static const struct option longs[] = {
		{"kernel", required_argument, NULL, OPT_KERNEL},
		{"initrd", required_argument, NULL, OPT_INITRD},
		{"append", required_argument, NULL, OPT_APPEND},
		{"memory", required_argument, NULL, OPT_MEMORY},
		{"smp", required_argument, NULL, OPT_SMP},
		{"name", required_argument, NULL, OPT_NAME},
		{"trace-boot", no_argument, NULL, OPT_BOOT},
		{"patch", required_argument, NULL, OPT_PATCH},
		{"output", required_argument, NULL, 'o'},
		{0},
	};
	int option;

	while ((option = verb_option(cli, argc, argv, "p:l:n:o:", longs, ret_exit)) != -1)
		if (option == VERB_OPTION_STOP || !take_option(cli, r, option, ret_exit))
			return false;
	if (!verb_operands(cli, argc, argv, 0, 0, ret_exit))
		return false;
	if (!r->machine.kernel_path)
		*ret_exit = usage_error(cli, "--kernel=FILE is needed");
	else if (!r->tracing.tracer &&
		 (r->trace_boot || r->tracing.output_path || r->filter.data || r->notrace.data))
		*ret_exit = usage_error(cli, "-p TRACER is needed with %s, as in `-p function`",
					r->trace_boot		 ? "--trace-boot"
					: r->tracing.output_path ? "-o"
								 : "-l and -n");
	else if (r->tracing.tracer)
		*ret_exit = usage_tracer(cli, r->tracing.tracer);
	if (*ret_exit == EXIT_OK && record_section_has(r->tracing.tracer))
		*ret_exit = usage_error(cli,
					"-p: %s keeps one section: give it to `hvtrace record`"
					" when the machine runs",
					r->tracing.tracer);
	return *ret_exit == EXIT_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct run r = {
		.cli = cli,
		.machine = {.append = APPEND_DEFAULT,
			    .memory_bytes = MEMORY_DEFAULT,
			    .nr_vcpus = 1,
			    .console_out_fd = STDOUT_FILENO},
	};
	struct hv_err *err = NULL;
	int exit_code = EXIT_OK, signo;

	snprintf(r.name, sizeof(r.name), "run-%d", (int)getpid());
	if (parse(cli, argc, argv, &r, &exit_code) && !have_root(cli))
		exit_code = EXIT_FAILED;
	if (exit_code == EXIT_OK && r.machine.kernel_path) {
		r.machine.name = r.tracing.name = r.name;
		r.tracing.filter = r.filter.data;
		r.tracing.notrace = r.notrace.data;
		r.tracing.is_stopped = r.trace_boot;
		err = run_machine(&r);
	}
	hv_err_keep_first(&err, run_trace_free(r.trace));
	run_session_free(r.session);
	hv_minivm_free(r.vm);
	signo = console_close(r.console);
	hv_text_deinit(&r.filter);
	hv_text_deinit(&r.notrace);
	if (err)
		return fail(err);
	if (r.has_failed)
		exit_code = EXIT_FAILED;
	if (signo) {
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, signo);
		signal(signo, SIG_DFL);
		raise(signo);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
	}
	return exit_code;
}

static const char help[] =
	"Needs KVM. The guest's serial port is the terminal. Ctrl-A x ends the machine, and so\n"
	"does the guest when it switches off or resets. Until then it is a domain like any\n"
	"other: `hvtrace cat NAME trace`.\n\n"
	"The program gives up root's rights before the guest runs. A separate process parses the\n"
	"guest's memory; if it dies, the kernel is restored and continues to run.\n\n"
	"  --kernel=FILE          a bzImage (/boot/vmlinuz-*) or an ELF vmlinux\n"
	"  --initrd=FILE          its initial RAM disk\n"
	"  --append=ARGS          its command line (" APPEND_DEFAULT ")\n"
	"  --memory=SIZE          512M, 2G; no unit means MiB (512)\n"
	"  --smp=N                vCPUs (1)\n"
	"  --name=NAME            name of the domain (run-PID)\n"
	"  --patch=WAY            how to change text: in place, or in shadow copies of its\n"
	"                         pages (in-place)\n"
	"  -p TRACER              as in available_tracers; begins when the kernel is up\n"
	"  --trace-boot           begin when ftrace_init() returns\n"
	"  -l GLOB                trace only these functions\n"
	"  -n GLOB                do not trace these\n"
	"  -o, --output=FILE      write the trace there, as trace_pipe shows it\n";

const struct verb verb_run = {
	.name = "run",
	.args = "--kernel=FILE [--initrd=FILE] [--append=ARGS] [--memory=SIZE] [--smp=N] "
		"[--name=NAME] [--patch=in-place|shadow] [-p TRACER [-l GLOB]... [-n GLOB]... [-o "
		"FILE] [--trace-boot]]",
	.summary = "Boot a kernel in a small built-in machine and trace it",
	.help = help,
	.run = run,
};
