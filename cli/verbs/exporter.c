/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hvtrace exporter: serves the metrics of all sessions to Prometheus. */
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/confine.h"
#include "base/prefix.h"
#include "cli/errand.h"
#include "cli/metrics/http.h"
#include "cli/metrics/metrics.h"
#include "cli/parse.h"
#include "cli/session_stat.h"
#include "cli/stop_signals.h"
#include "cli/verbs/record/recording.h"
#include "cli/verbs/verb.h"
#include "latency/wait_times.h"
#include "vmm/unix_socket.h"

/* -- waits in run queues ---------------------------------------------------------------------- */

/* How long the tasks of each guest with a session wait for a vCPU, and its vCPUs for a CPU of the
 * host. A thread for each session records the events of the two schedulers in an instance that ends
 * with the thread's connection, and counts the waits. It stops for a while if tracing takes too
 * much of the guest's time. latency/wait_times.h computes the waits; cli/metrics/metrics.h formats
 * them. */

#define RUN_QUEUES_MAX 256 /* limit for sessions; further ones are not measured */

struct run_queues_config {
	struct errand *errand; /* finds sessions; borrowed */
	bool has_guest, has_host;
	uint64_t max_overhead_ppm; /* 0: no limit */
};

#define TURN_MS	    100
#define AGAIN_S	    60 /* retry interval after giving up */
#define SAY_S	    2  /* delay before a failure is reported, because the session may be ending */
#define MANY_READS  32 /* a take with this many reads may have left events */
#define TAKES_MAX   64
#define ANSWER_S    10
#define BUFFER_KB   "4096" /* per vCPU: holds the events of some turns */
#define SWITCH	    "sched:sched_switch"
#define WAKING	    "sched:sched_waking"
#define NEW_TASK    "sched:sched_wakeup_new"
#define HOST_EVENTS "host:sched_switch host:sched_waking"

struct run_queue {
	struct run_queues *all;
	char *id;    /* owned */
	unsigned nr; /* used in the name of its instance */
	pthread_t thread;
	pid_t service_pid;
	atomic_bool is_over;   /* the session has ended */
	atomic_bool has_ended; /* the thread has ended */
	char *said;	       /* owned; the last reported reason */
	pthread_mutex_t lock;
	/* Guarded by LOCK. */
	struct metrics_waits waits;
};

struct run_queues {
	struct run_queues_config config;
	int stop[2]; /* a pipe: the threads end when it has no writer */
	unsigned nr_made;
	pthread_mutex_t lock; /* protects the list, which one thread changes */
	struct run_queue *list[RUN_QUEUES_MAX];
	size_t nr;
};

/* State of a thread while it measures. */
struct measuring {
	struct run_queue *q;
	struct client client;
	struct recording recording;
	bool has_host;
	uint64_t looked_ns;
};

/* -- a session -------------------------------------------------------------------------------- */

static bool stops(const struct run_queue *q, int wait_ms)
{
	struct pollfd stop = {q->all->stop[0], POLLIN, 0};

	return poll(&stop, 1, wait_ms) > 0;
}

/* IS_ON: measuring is active. */
static void publish(const struct measuring *m, bool is_on)
{
	struct run_queue *q = m->q;

	pthread_mutex_lock(&q->lock);
	if (recording_is_open(&m->recording))
		q->waits.times = *hv_wait_export_times(m->recording.file.export);
	q->waits.has_tasks = is_on && q->all->config.has_guest;
	q->waits.has_vcpus = is_on && m->has_host;
	pthread_mutex_unlock(&q->lock);
}

/* Reports each reason once. */
static void say(struct run_queue *q, const char *what, const char *reason)
{
	HV_AUTO_FREE char *domain = hv_format("domain '%s': ", q->id);
	HV_AUTO_TEXT struct hv_text why = {0};

	if (q->said && strcmp(q->said, reason) == 0)
		return;
	free(q->said);
	q->said = hv_strdup(reason);
	if (hv_starts_with(reason, domain))
		reason += strlen(domain);
	hv_text_add_guest(&why, reason, strlen(reason));
	fprintf(stderr, "hvtrace: %s%s is not measured: %s\n", domain, what, why.data);
}

/* FLAGS are added to O_WRONLY. */
static struct hv_err *put_words(struct measuring *m, int flags, const char *words)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", m->recording.dir);

	return client_put(&m->client, path, O_WRONLY | flags, words);
}

/* Returns the wanted events that the guest has, as words of set_event. */
static struct hv_err *find_events(struct measuring *m, struct hv_text *ret)
{
	static const char *const events[] = {SWITCH, WAKING, NEW_TASK};
	HV_AUTO_TEXT struct hv_text available = {0};
	struct hv_err *err = client_get(&m->client, "available_events", &available);

	hv_text_add(&available, "\n");
	for (size_t i = 0; i < HV_ARRAY_LEN(events); i++) {
		HV_AUTO_FREE char *line = hv_format("%s\n", events[i]);

		if (strstr(available.data, line))
			hv_text_printf(ret, "%s ", events[i]);
	}
	hv_text_add(ret, "\n");
	return err;
}

/* The service omits events that can never be recorded. */
static struct hv_err *check_events(struct measuring *m)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", m->recording.dir);
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = client_get(&m->client, path, &text);

	hv_text_add(&text, "");
	if (!err && (!strstr(text.data, SWITCH) || !strstr(text.data, WAKING)))
		err = hv_err_new(EOPNOTSUPP, "events of this guest's scheduler cannot be recorded");
	return err;
}

static struct hv_err *put_events(struct measuring *m)
{
	HV_AUTO_TEXT struct hv_text words = {0};
	struct hv_err *err = find_events(m, &words);

	if (!err)
		err = put_words(m, O_TRUNC, words.data);
	return err ? err : check_events(m);
}

/* If the host's events are unavailable, still measures the guest's. */
static struct hv_err *put_host_events(struct measuring *m)
{
	struct hv_err *err = put_words(m, O_APPEND, HOST_EVENTS "\n");

	m->has_host = !err;
	if (!err || client_is_gone(err) || !m->q->all->config.has_guest)
		return err;
	say(m->q, "steal", err->reason);
	hv_err_free(err);
	return NULL;
}

static struct hv_err *put_settings(struct measuring *m)
{
	const struct run_queues_config *config = &m->q->all->config;
	HV_AUTO_FREE char *instance = hv_format("exporter-%d-%u", (int)getpid(), m->q->nr);
	const struct record_request q = {.instance = instance, .buffer_kb = BUFFER_KB};
	struct hv_err *err = recording_begin(&m->recording, &m->client, &q);

	if (err)
		return err;
	if (config->has_guest)
		err = put_events(m);
	if (!err && config->has_host)
		err = put_host_events(m);
	return err;
}

static struct hv_err *begin(struct measuring *m)
{
	const struct run_queue *q = m->q;
	struct hv_err *err = sessions_connect(q->all->config.errand, q->id, &m->client);

	client_limit(&m->client, ANSWER_S);
	if (!err)
		err = session_watch(&m->client);
	if (!err)
		err = put_settings(m);
	if (!err)
		err = recording_open(&m->recording);
	if (err)
		return err;
	*hv_wait_export_times(m->recording.file.export) = q->waits.times;
	return recording_start(&m->recording);
}

static struct hv_err *look_at_load(struct measuring *m)
{
	AUTO_SESSION_STAT json_object *stat = NULL;
	uint64_t now_ns = hv_now_ns(), load_ppm;
	struct hv_err *err;

	if (now_ns - m->looked_ns < HV_NS_PER_S)
		return NULL;
	m->looked_ns = now_ns;
	err = session_watch(&m->client);
	if (!err)
		err = session_stat_get(&m->client, &stat);
	if (err)
		return err;
	load_ppm = session_stat_number(stat, "budget.load_ppm");
	if (m->q->all->config.max_overhead_ppm && load_ppm > m->q->all->config.max_overhead_ppm)
		return hv_err_new(EDQUOT, "tracing takes more of a vCPU's time than allowed");
	return NULL;
}

static struct hv_err *take(struct measuring *m)
{
	struct hv_err *err = NULL;
	bool more = true;

	for (unsigned i = 0; !err && more && i < TAKES_MAX; i++) {
		err = recording_take(&m->recording, 0, &more);
		more = more && m->recording.file.nr_reads >= MANY_READS;
	}
	return err;
}

/* Returns when it must stop, the session ends, or measuring fails. */
static struct hv_err *measure(struct measuring *m)
{
	struct hv_err *err = begin(m);

	while (!err && !stops(m->q, TURN_MS)) {
		err = take(m);
		publish(m, !err);
		if (!err)
			err = look_at_load(m);
	}
	return err;
}

static void end(struct measuring *m, bool is_gone)
{
	if (recording_is_open(&m->recording))
		hv_err_free(record_file_end(&m->recording.file));
	publish(m, false);
	if (!is_gone) {
		hv_err_free(recording_close(&m->recording));
		hv_err_free(recording_remove(&m->recording));
	}
	recording_deinit(&m->recording);
	client_close(&m->client);
}

/* Returns whether the session still exists, and if so the reason of the failure in *RET_WHY. */
static bool try(struct run_queue *q, struct hv_err **ret_why)
{
	static const struct record_target target = {
		.path = "run queues",
		.format = &hv_wait_format,
	};
	struct measuring m = {.q = q, .client = CLIENT_NONE};
	struct hv_err *err;
	bool is_gone;

	recording_init(&m.recording, &target);
	err = measure(&m);
	is_gone = client_is_gone(err) || !client_is_connected(&m.client);
	end(&m, is_gone);
	if (is_gone)
		hv_err_free(err);
	else
		*ret_why = err;
	return !is_gone;
}

/* Returns whether the session still exists after a while. Reports nothing for a session that is
 * ending. */
static bool rest(struct run_queue *q, const struct hv_err *why)
{
	for (unsigned s = 0; s < AGAIN_S && !q->is_over; s++) {
		if (s == SAY_S && why)
			say(q, "the run queue", why->message);
		if (stops(q, 1000))
			return false;
	}
	return !q->is_over;
}

static void *run_queue_main(void *arg)
{
	struct run_queue *q = arg;
	struct hv_err *why = NULL;

	while (try(q, &why) && rest(q, why)) {
		hv_err_free(why);
		why = NULL;
	}
	hv_err_free(why);
	q->has_ended = true;
	return NULL;
}

static void run_queue_free(struct run_queue *q)
{
	pthread_join(q->thread, NULL);
	pthread_mutex_destroy(&q->lock);
	free(q->said);
	free(q->id);
	free(q);
}

/* -- all of them ------------------------------------------------------------------------------ */

static struct hv_err *run_queues_new(const struct run_queues_config *config,
				     struct run_queues **ret)
{
	struct run_queues *all = hv_alloc(sizeof(*all));

	if (pipe2(all->stop, O_CLOEXEC) != 0) {
		free(all);
		return hv_err_new(errno, "cannot measure run queues: pipe: %s", strerror(errno));
	}
	all->config = *config;
	pthread_mutex_init(&all->lock, NULL);
	*ret = all;
	return NULL;
}

/* Removes ended sessions and their data from the list. */
static void forget_ended(struct run_queues *all)
{
	for (size_t i = all->nr; i-- > 0;) {
		struct run_queue *q = all->list[i];

		if (!q->has_ended)
			continue;
		pthread_mutex_lock(&all->lock);
		all->list[i] = all->list[--all->nr];
		pthread_mutex_unlock(&all->lock);
		run_queue_free(q);
	}
}

static bool is_known(const struct run_queues *all, const char *id)
{
	for (size_t i = 0; i < all->nr; i++)
		if (strcmp(all->list[i]->id, id) == 0)
			return true;
	return false;
}

static bool is_there(const struct run_queue *q, const struct rundir_info *sessions, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (sessions[i].service_pid == q->service_pid && strcmp(sessions[i].id, q->id) == 0)
			return true;
	return false;
}

static void begin_with(struct run_queues *all, const struct rundir_info *info)
{
	struct run_queue *q = hv_alloc(sizeof(*q));

	q->all = all;
	q->nr = ++all->nr_made;
	q->service_pid = info->service_pid;
	q->id = hv_strdup(info->id);
	pthread_mutex_init(&q->lock, NULL);
	if (pthread_create(&q->thread, NULL, run_queue_main, q) != 0) {
		pthread_mutex_destroy(&q->lock);
		free(q->id);
		free(q);
		return;
	}
	pthread_mutex_lock(&all->lock);
	all->list[all->nr++] = q;
	pthread_mutex_unlock(&all->lock);
}

/* Starts measuring new sessions, and drops ended ones. Called about every second by the thread that
 * created ALL. */
static void run_queues_follow(struct run_queues *all)
{
	struct rundir_info *sessions = NULL;
	size_t nr = 0;

	forget_ended(all);
	hv_err_free(sessions_list(all->config.errand, &sessions, &nr));
	for (size_t i = 0; i < all->nr; i++)
		all->list[i]->is_over = !is_there(all->list[i], sessions, nr);
	for (size_t i = 0; i < nr && all->nr < RUN_QUEUES_MAX; i++)
		if (!is_known(all, sessions[i].id))
			begin_with(all, &sessions[i]);
	rundir_list_free(sessions, nr);
}

/* Any thread. CTX is a struct run_queues. Returns false if session ID is unknown. */
static bool run_queues_get(void *ctx, const char *id, struct metrics_waits *ret)
{
	struct run_queues *all = ctx;
	bool found = false;

	pthread_mutex_lock(&all->lock);
	for (size_t i = 0; i < all->nr && !found; i++) {
		struct run_queue *q = all->list[i];

		found = strcmp(q->id, id) == 0;
		if (!found)
			continue;
		pthread_mutex_lock(&q->lock);
		*ret = q->waits;
		pthread_mutex_unlock(&q->lock);
	}
	pthread_mutex_unlock(&all->lock);
	return found;
}

/* Ends all threads. ALL may be NULL. */
static void run_queues_free(struct run_queues *all)
{
	if (!all)
		return;
	close(all->stop[1]);
	for (size_t i = 0; i < all->nr; i++)
		run_queue_free(all->list[i]);
	pthread_mutex_destroy(&all->lock);
	close(all->stop[0]);
	free(all);
}

/* -- the verb --------------------------------------------------------------------------------- */

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

/* Runs in the helper. */
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
