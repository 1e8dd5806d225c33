/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace exporter: serves the metrics of all sessions to Prometheus. */
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/confine.h"
#include "base/prefix.h"
#include "cli/errand.h"
#include "cli/metrics/http.h"
#include "cli/metrics/metrics.h"
#include "cli/parse.h"
#include "cli/stop_signals.h"
#include "cli/verbs/exporter/run_queues.h"
#include "cli/verbs/verb.h"
#include "vmm/unix_socket.h"

#define UNIX_PREFIX  "unix:"
#define BACKLOG	     16
#define FOLLOW_MS    1000  /* interval of checks for new and ended sessions */
#define OVERHEAD_PPM 20000 /* default */

struct exporter {
	struct metrics_config config;
	const char *where, *run_dir;
	struct run_queues_config run_queues;
	struct errand errand;
};

static struct hv_err *listen_at(int fd, const struct sockaddr *addr, socklen_t len,
				const char *where)
{
	if (bind(fd, addr, len) != 0 || listen(fd, BACKLOG) != 0)
		return hv_err_new(errno, "--listen=%s: %s", where, strerror(errno));
	return NULL;
}

/* Removes the socket of a server that died, and nothing else. */
static struct hv_err *remove_left(const char *path, const char *where)
{
	struct stat st = {0};

	if (lstat(path, &st) != 0 && errno == ENOENT)
		return NULL;
	if (!S_ISSOCK(st.st_mode))
		return hv_err_new(EEXIST, "--listen=%s: there is a file that is not a socket",
				  where);
	if (unlink(path) != 0)
		return hv_err_new(errno, "--listen=%s: %s", where, strerror(errno));
	return NULL;
}

/* Whether a server answers at ADDR. If not, a dead server left the socket. */
static bool is_served(const struct sockaddr_un *addr)
{
	HV_AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd >= 0 && connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0;
}

static struct hv_err *listen_unix(const char *where, int *ret)
{
	const char *path = where + strlen(UNIX_PREFIX);
	HV_AUTO_FD int fd = -1;
	struct sockaddr_un addr;
	struct hv_err *err = hv_unix_socket(path, 0, &addr, &fd);

	if (err)
		return hv_err_in(err, "--listen=%s", where);
	if (is_served(&addr))
		return hv_err_new(EADDRINUSE, "--listen=%s: another server answers there", where);
	err = remove_left(path, where);
	if (!err)
		err = listen_at(fd, (struct sockaddr *)&addr, sizeof(addr), where);
	if (!err)
		*ret = hv_take_fd(&fd);
	return err;
}

/* WHERE is ADDRESS:PORT, with an IPv6 address in brackets. */
static struct hv_err *listen_inet(const char *where, int *ret)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV,
				 .ai_socktype = SOCK_STREAM};
	HV_AUTO_FREE char *host = hv_strdup(where);
	char *port = strrchr(host, ':');
	HV_AUTO_FD int fd = -1;
	struct addrinfo *addr;
	struct hv_err *err;
	char *name = host;
	int yes = 1;
	size_t len;

	if (!port)
		return hv_err_new(EINVAL, "--listen=%s: neither ADDRESS:PORT nor unix:PATH", where);
	*port++ = '\0';
	len = strlen(name);
	if (len > 1 && name[0] == '[' && name[len - 1] == ']') {
		name[len - 1] = '\0';
		name++;
	}
	if (!*name || !*port || getaddrinfo(name, port, &hints, &addr) != 0)
		return hv_err_new(EINVAL,
				  "--listen=%s: not a numeric address and port (127.0.0.1:9911)",
				  where);
	fd = socket(addr->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0)
		err = hv_err_new(errno, "--listen=%s: %s", where, strerror(errno));
	else
		err = listen_at(fd, addr->ai_addr, addr->ai_addrlen, where);
	freeaddrinfo(addr);
	if (!err)
		*ret = hv_take_fd(&fd);
	return err;
}

static bool is_unix(const char *where)
{
	return hv_starts_with(where, UNIX_PREFIX);
}

static struct hv_err *page(void *ctx, struct hv_text *ret)
{
	return metrics_add(ctx, ret);
}

/* Returns when a signal arrives. QUEUES may be NULL. */
static void wait_for_signal(int signals, struct run_queues *queues)
{
	struct pollfd stop = {signals, POLLIN, 0};
	int n;

	do {
		if (queues)
			run_queues_follow(queues);
		n = poll(&stop, 1, queues ? FOLLOW_MS : -1);
	} while (!n || (n < 0 && errno == EINTR));
}

static struct hv_err *answer(struct exporter *e, int fd, int signals)
{
	struct run_queues *queues = NULL;
	struct http *http = NULL;
	struct hv_err *err = NULL;

	if (e->run_queues.has_guest || e->run_queues.has_host) {
		err = run_queues_new(&e->run_queues, &queues);
		e->config.waits = run_queues_get;
		e->config.ctx = queues;
	}
	if (!err)
		err = http_start(fd, page, &e->config, &http);
	if (!err) {
		fprintf(stderr, "hvtrace: metrics at %s\n", e->where);
		wait_for_signal(signals, queues);
		http_stop(http);
	}
	run_queues_free(queues);
	return err;
}

/* In the errand process. */
static struct hv_err *run_errand(void *ctx, const struct hv_message *what, struct hv_message *ret)
{
	const struct exporter *e = ctx;

	return sessions_run(e->run_dir, what, ret);
}

static void remove_socket(void *ctx)
{
	const struct exporter *e = ctx;

	if (is_unix(e->where))
		unlink(e->where + strlen(UNIX_PREFIX));
}

/* Call it before creating the threads that answer, because they parse data of guests and of
 * clients. */
static struct hv_err *leave_rights(struct exporter *e)
{
	struct errand_config config = ERRAND_CONFIG_NONE;
	struct hv_confinement confinement = {
		.may = HV_MAY_START | HV_MAY_READ | HV_MAY_LISTEN,
		.readable = {"/proc"}, /* times of the VMMs' threads */
		.dir_fd = -1,
	};
	struct hv_err *err;

	config.run = run_errand;
	config.end = remove_socket;
	config.ctx = e;
	err = errand_begin(&e->errand, &config);
	e->config.errand = e->run_queues.errand = &e->errand;
	return err ? err : hv_confine(&confinement);
}

static struct hv_err *serve(struct exporter *e)
{
	HV_AUTO_FD int signals = stop_signals_fd();
	struct hv_err *err;
	int fd = -1;

	if (signals < 0)
		return hv_err_new(errno, "cannot wait for signals: signalfd: %s", strerror(errno));
	err = is_unix(e->where) ? listen_unix(e->where, &fd) : listen_inet(e->where, &fd);
	if (!err)
		err = leave_rights(e);
	if (!err)
		err = answer(e, fd, signals);
	errand_end(&e->errand);
	return err;
}

/* False: return *RET_EXIT. */
static bool take_option(struct cli *cli, struct exporter *e, int option, int *ret_exit)
{
	struct metrics_config *config = &e->config;

	*ret_exit = EXIT_OK;
	if (option == 'l')
		e->where = optarg;
	else if (option == 'r')
		e->run_queues.has_guest = config->has_runqueue = true;
	else if (option == 's')
		e->run_queues.has_host = config->has_steal = true;
	else if (option == 'o' && !percent_parse(optarg, &e->run_queues.max_overhead_ppm))
		*ret_exit = usage_error(cli, "--max-overhead: '%s' is not " PERCENT_WANTED, optarg);
	else if (option == 'f' && config->nr_functions == METRICS_FUNCTIONS_MAX)
		*ret_exit =
			usage_error(cli, "--function: at most %d functions", METRICS_FUNCTIONS_MAX);
	else if (option == 'f')
		config->functions[config->nr_functions++] = optarg;
	return *ret_exit == EXIT_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	static const struct option longs[] = {{"listen", required_argument, NULL, 'l'},
					      {"function", required_argument, NULL, 'f'},
					      {"runqueue", no_argument, NULL, 'r'},
					      {"steal", no_argument, NULL, 's'},
					      {"max-overhead", required_argument, NULL, 'o'},
					      {0}};
	struct exporter e = {.run_dir = cli->run_dir, .errand = ERRAND_NONE};
	int exit_code;
	int option;

	e.run_queues.max_overhead_ppm = OVERHEAD_PPM;
	while ((option = verb_option(cli, argc, argv, "", longs, &exit_code)) != -1)
		if (option == VERB_OPTION_STOP || !take_option(cli, &e, option, &exit_code))
			return exit_code;
	if (!verb_operands(cli, argc, argv, 0, 0, &exit_code))
		return exit_code;
	if (!e.where)
		return usage_error(cli, "--listen=ADDRESS:PORT or --listen=unix:PATH is needed");
	if (!have_root(cli))
		return EXIT_FAILED;
	return fail_if(serve(&e));
}

static const char help[] =
	"Answers GET /metrics with the counts of all sessions on this host, in the text format of\n"
	"Prometheus, until SIGINT or SIGTERM. When a session ends, its series disappear.\n\n"
	"  --listen=WHERE         ADDRESS:PORT (127.0.0.1:9911, [::1]:9911), or unix:PATH\n"
	"  --function=NAME        also hits and time of this function, in guests that are "
	"profiled\n"
	"                         (function_profile_enabled); may be given more than once\n"
	"  --runqueue             also how long the guests' tasks wait for a vCPU; this records\n"
	"                         scheduler events, and each event costs the guest some time\n"
	"  --steal                also how long vCPUs wait for a CPU of the host; this records\n"
	"                         events of the host (KVM)\n"
	"  --max-overhead=PERCENT when tracing takes more of a vCPU's time, these two pause for\n"
	"                         a minute (default: 2)\n";

const struct verb verb_exporter = {
	.name = "exporter",
	.args = "--listen=ADDRESS:PORT|unix:PATH [--function=NAME]... "
		"[--runqueue] [--steal] [--max-overhead=PERCENT]",
	.summary = "Serve the counts of all sessions to Prometheus",
	.help = help,
	.run = run,
};
