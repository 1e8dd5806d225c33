/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/exporter/run_queues.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/prefix.h"
#include "cli/errand.h"
#include "cli/session_stat.h"
#include "cli/verbs/record/recording.h"
#include "latency/wait_times.h"

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
	is_gone = client_is_gone(err) || m.client.fd < 0;
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

struct hv_err *run_queues_new(const struct run_queues_config *config, struct run_queues **ret)
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

void run_queues_follow(struct run_queues *all)
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

bool run_queues_get(void *ctx, const char *id, struct metrics_waits *ret)
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

void run_queues_free(struct run_queues *all)
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
