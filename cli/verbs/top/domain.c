/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/domain.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/prefix.h"
#include "base/text.h"
#include "cli/metrics/host_counts.h"
#include "cli/session_stat.h"
#include "latency/wait_times.h"

/* -- waits for a vCPU -------------------------------------------------------------------------- */

#define BUFFER_KB  "4096" /* per vCPU: for the events between two takes */
#define MANY_READS 32	  /* a take with this many reads may have left events */
#define TAKES_MAX  16
#define SWITCH	   "sched:sched_switch"
#define WAKING	   "sched:sched_waking"
#define NEW_TASK   "sched:sched_wakeup_new"

static void top_waits_deinit(struct top_waits *w)
{
	recording_deinit(&w->recording);
	free(w->why);
}

/* Without NEW_TASK, the first waits of new tasks are not measured. */
static struct hv_err *find_events(struct client *c, struct hv_text *ret)
{
	HV_AUTO_TEXT struct hv_text available = {0};
	struct hv_err *err = client_get(c, "available_events", &available);

	hv_text_add(&available, "\n");
	hv_text_printf(ret, SWITCH " " WAKING "%s\n",
		       strstr(available.data, NEW_TASK "\n") ? " " NEW_TASK : "");
	return err;
}

/* The service omits events that can never be recorded. */
static struct hv_err *put_events(struct top_waits *w, struct client *c)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", w->recording.dir);
	HV_AUTO_TEXT struct hv_text words = {0}, text = {0};
	struct hv_err *err = find_events(c, &words);

	if (!err)
		err = client_put(c, path, O_WRONLY | O_TRUNC, words.data);
	if (!err)
		err = client_get(c, path, &text);
	if (err)
		return err;
	hv_text_add(&text, "");
	if (!strstr(text.data, SWITCH) || !strstr(text.data, WAKING))
		return hv_err_new(EOPNOTSUPP,
				  "events of this guest's scheduler cannot be recorded");
	return NULL;
}

static struct hv_err *begin(struct top_waits *w, struct client *c, const char *instance)
{
	const struct record_request q = {
		.instance = instance,
		.buffer_kb = BUFFER_KB,
		.target = {.path = "run queue", .format = &hv_wait_format},
	};
	struct hv_err *err;

	recording_init(&w->recording, &q.target);
	err = recording_begin(&w->recording, c, &q);

	if (!err)
		err = put_events(w, c);
	if (!err)
		err = recording_open(&w->recording);
	return err ? err : recording_start(&w->recording);
}

/* Stops measuring; WHY, which is copied, is the reason if the rest continues. */
static struct hv_err *top_waits_end(struct top_waits *w, const char *why)
{
	struct recording *r = &w->recording;
	struct hv_err *err = NULL;

	if (why) {
		free(w->why);
		w->why = hv_strdup(why);
	}
	if (r->dir)
		err = recording_close(r);
	hv_err_keep_first(&err, recording_remove(r));
	recording_deinit(r);
	*r = (struct recording)RECORDING_NONE;
	return err;
}

/* INSTANCE names its instance. If waits cannot be measured, sets `why` and succeeds. */
static struct hv_err *top_waits_begin(struct top_waits *w, struct client *c, const char *instance)
{
	struct hv_err *err = begin(w, c, instance), *end_err;

	if (!err || client_is_gone(err))
		return err;
	end_err = top_waits_end(w, err->reason);
	hv_err_free(err);
	return end_err;
}

/* Takes available events, if waits are measured. Call it a few times a second. */
static struct hv_err *top_waits_take(struct top_waits *w)
{
	struct recording *r = &w->recording;
	struct hv_err *err = NULL;
	bool more = r->dir;

	for (unsigned i = 0; !err && more && i < TAKES_MAX; i++) {
		err = recording_take(r, 0, &more);
		more = more && r->file.nr_reads >= MANY_READS;
	}
	return err;
}

/* False: waits are not measured. */
static bool top_waits_get(const struct top_waits *w, struct hv_wait_times *ret)
{
	const struct recording *r = &w->recording;

	if (!r->dir || !recording_is_open(r))
		return false;
	*ret = hv_wait_export_times(r->file.export)->tasks;
	return true;
}

/* -- the domain -------------------------------------------------------------------------------- */

#define NAME_MAX_BYTES 64
#define ANSWER_S       10	   /* limit for a look */
#define SETTLE_NS      HV_NS_PER_S /* until the session's load no longer includes what was given up */
#define COST_PPM       20000 /* of a vCPU's time: if tracing takes more, options are given up */
#define COSTLY	       "tracing took more than 2 % of a vCPU's time"

/* Functions that exist in every kernel: files, network, memory, tasks, and functions that wait.
 * Counting them costs little, because they are called rarely enough. */
static const char *const usual[] = {
	"do_sys_openat2",    "vfs_read",
	"vfs_write",	     "vfs_fsync_range",
	"submit_bio",	     "tcp_sendmsg",
	"tcp_recvmsg",	     "udp_sendmsg",
	"udp_recvmsg",	     "unix_stream_sendmsg",
	"kernel_clone",	     "bprm_execve",
	"do_exit",	     "handle_mm_fault",
	"try_to_free_pages", "do_futex",
	"hrtimer_nanosleep", "do_epoll_wait",
	"do_sys_poll",	     "schedule",
	"io_schedule",	     "__do_softirq",
	"handle_softirqs",
};

static void look_deinit(struct top_look *l)
{
	top_counts_deinit(&l->counts);
}

void top_domain_deinit(struct top_domain *d)
{
	own_session_close(&d->session);
	top_waits_deinit(&d->waits);
	top_programs_deinit(&d->programs);
	hv_close_at(&d->exits);
	free(d->name);
	free(d->dir);
	free(d->no_functions);
	free(d->ended);
	look_deinit(&d->before);
	look_deinit(&d->now);
}

static struct client *client_of(struct top_domain *d)
{
	return &d->session.client;
}

static struct hv_err *in_domain_of(const struct top_domain *d, struct hv_err *err)
{
	return err && !client_is_gone(err) ? hv_err_in(err, "domain '%s'", d->spec) : err;
}

/* The profile. */

static char *path_of(const struct top_domain *d, const char *file)
{
	return hv_format("%s/%s", d->dir, file);
}

/* Returns the functions in the session's set_ftrace_filter, each with a newline. Empty: no
 * filter. */
static struct hv_err *session_filter(struct top_domain *d, struct hv_text *ret)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = client_get(client_of(d), "set_ftrace_filter", &text);
	char *rest = NULL;

	hv_text_add(&text, "");
	hv_text_add(ret, "");
	for (char *line = strtok_r(text.data, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		line[strcspn(line, " ")] = '\0'; /* removes the module */
		/* "#### all functions enabled ####", and FUNC:COMMAND */
		if (*line && *line != '#' && !strchr(line, ':'))
			hv_text_printf(ret, "%s\n", line);
	}
	return err;
}

/* Sets the filter to the usual functions that this kernel has. */
static struct hv_err *put_usual(struct top_domain *d)
{
	HV_AUTO_FREE char *path = path_of(d, "set_ftrace_filter");
	struct hv_err *why = NULL;
	size_t nr = 0;

	for (size_t i = 0; i < HV_ARRAY_LEN(usual); i++) {
		HV_AUTO_FREE char *line = hv_format("%s\n", usual[i]);
		struct hv_err *err = client_put(client_of(d), path, O_WRONLY | O_APPEND, line);

		if (err && err->code != EINVAL) {
			hv_err_free(why);
			return err;
		}
		nr += !err;
		hv_err_keep_first(&why, err);
	}
	if (nr) {
		hv_err_free(why);
		return NULL;
	}
	return why;
}

static struct hv_err *put_filter(struct top_domain *d, const char *functions)
{
	HV_AUTO_FREE char *path = path_of(d, "set_ftrace_filter");
	HV_AUTO_TEXT struct hv_text list = {0};
	struct hv_err *err;

	if (functions)
		return client_echo(client_of(d), path, functions);
	err = session_filter(d, &list);
	if (err)
		return err;
	if (list.len_bytes)
		return client_put(client_of(d), path, O_WRONLY | O_TRUNC, list.data);
	return put_usual(d);
}

/* Whether the session is already profiled. */
static struct hv_err *is_profiled(struct top_domain *d, bool *ret)
{
	HV_AUTO_TEXT struct hv_text enabled = {0};
	struct hv_err *err = client_get(client_of(d), "function_profile_enabled", &enabled);

	if (!err)
		*ret = enabled.len_bytes && enabled.data[0] == '1';
	return err;
}

/* The instance ends with the connection, so the guest is restored when this process ends for any
 * reason. */
static struct hv_err *make_instance(struct top_domain *d)
{
	static unsigned nr; /* distinguishes several uses of one domain */
	HV_AUTO_FREE char *dir = hv_format("instances/top-%d-%u", (int)getpid(), ++nr);
	struct hv_err *err = client_mkdir(client_of(d), dir, CLIENT_DIR_OURS);

	if (!err) {
		d->dir = hv_take(dir);
		d->dir_is_ours = true;
	}
	return err;
}

static struct hv_err *begin_profile(struct top_domain *d, const char *functions)
{
	HV_AUTO_FREE char *path = NULL;
	bool profiled = false;
	struct hv_err *err = functions ? NULL : is_profiled(d, &profiled);

	if (!err && profiled) {
		d->dir = hv_strdup("");
		return NULL;
	}
	if (!err)
		err = make_instance(d);
	if (!err)
		err = put_filter(d, functions);
	if (err)
		return err;
	path = path_of(d, "function_profile_enabled");
	return client_echo(client_of(d), path, "1");
}

static struct hv_err *end_profile(struct top_domain *d)
{
	struct hv_err *err = NULL;

	if (d->dir_is_ours)
		err = client_rmdir(client_of(d), d->dir);
	d->dir_is_ours = false;
	free(hv_take(d->dir));
	return err;
}

/* If the session's settings forbid a profile, the domain is shown without functions. That is an
 * error only if the user requested functions. */
static struct hv_err *try_profile(struct top_domain *d, const char *functions)
{
	struct hv_err *err = begin_profile(d, functions);

	if (!err || functions || client_is_gone(err))
		return err;
	d->no_functions = hv_strdup(err->message);
	hv_err_free(err);
	return end_profile(d);
}

/* The session. */

static struct hv_err *ask_whom(struct top_domain *d)
{
	AUTO_SESSION_STAT json_object *o = NULL;
	HV_AUTO_TEXT struct hv_text name = {0};
	struct hv_err *err = session_stat_get(client_of(d), &o);

	if (err)
		return err;
	hv_text_add_guest(&name, client_of(d)->info.name, NAME_MAX_BYTES);
	d->name = hv_text_take(&name);
	d->nr_vcpus = session_stat_number(o, "vcpus");
	d->vmm = client_of(d)->info.vmm_pid;
	return NULL;
}

static struct hv_err *measure_load(struct top_domain *d)
{
	return client_max_overhead(client_of(d), HVT_NO_LIMIT);
}

struct hv_err *top_domain_open(struct top_domain *d, const struct cli *cli, const char *spec)
{
	struct hv_err *err = own_session_open(cli, spec, &d->session);

	d->spec = spec;
	if (!err)
		err = in_domain_of(d, ask_whom(d));
	/* Only root can open the counters of exits; other users see none. */
	if (!err)
		d->exits = kvm_exits_open(KVM_DEBUGFS, d->vmm);
	return err;
}

struct hv_err *top_domain_begin(struct top_domain *d, const char *functions)
{
	struct hv_err *err = measure_load(d);

	if (!err)
		err = try_profile(d, functions);
	client_limit(client_of(d), ANSWER_S);
	return in_domain_of(d, err);
}

struct hv_err *top_domain_close(struct top_domain *d)
{
	struct hv_err *err;

	if (d->ended || !client_is_connected(client_of(d)))
		return NULL;
	client_limit(client_of(d), 0);
	err = top_waits_end(&d->waits, NULL);
	if (!err)
		err = top_programs_end(&d->programs, NULL);
	if (!err)
		err = end_profile(d);
	hv_err_keep_first(&err, own_session_end(&d->session));
	return in_domain_of(d, err);
}

/* Looks. */

static void count(void *ctx, const char *name, uint64_t hits, double time_us)
{
	top_counts_add(ctx, name, hits, time_us);
}

static struct hv_err *look_at_waits(struct top_domain *d)
{
	struct top_look *l = &d->now;
	struct hv_err *err = top_waits_take(&d->waits);

	if (err)
		return err;
	l->has_waits = top_waits_get(&d->waits, &l->waits);
	return NULL;
}

/* If tracing takes too much time, gives up the waits, which cost more, or else the programs. The
 * load that the session reports next is still that of both. */
static struct hv_err *look_at_load(struct top_domain *d)
{
	if (d->now.load_ppm <= COST_PPM || d->now.at_ns < d->gave_up_ns + SETTLE_NS)
		return NULL;
	if (d->waits.recording.dir) {
		d->gave_up_ns = d->now.at_ns;
		return top_waits_end(&d->waits, COSTLY);
	}
	if (d->programs.recording.dir)
		return top_programs_end(&d->programs, COSTLY);
	return NULL;
}

static struct hv_err *look(struct top_domain *d)
{
	AUTO_SESSION_STAT json_object *o = NULL;
	struct top_look *l = &d->now;
	struct hv_err *err = session_stat_get(client_of(d), &o);

	if (err)
		return err;
	l->at_ns = hv_now_ns();
	l->nr_events = session_stat_number(o, "events");
	l->nr_lost = session_stat_number(o, "lost");
	l->nr_not_counted = session_stat_number(o, "profile_no_count");
	l->held_ns = session_stat_number(o, "holds.total_ns");
	l->has_load = session_stat_member(o, "budget.load_ppm") != NULL;
	l->load_ppm = session_stat_number(o, "budget.load_ppm");
	l->has_time = vcpu_time_read(d->vmm, &l->time);
	l->has_exits = kvm_exits_read(d->exits, &l->nr_exits);
	err = look_at_waits(d);
	if (!err)
		err = top_programs_look(&d->programs);
	if (!err)
		err = look_at_load(d);
	if (err)
		return err;
	if (d->dir)
		err = profile_read(client_of(d), d->dir, d->nr_vcpus, 0, count, &l->counts);
	top_counts_join(&l->counts);
	return err;
}

static void end(struct top_domain *d, struct hv_err *err)
{
	HV_AUTO_FREE char *domain = hv_format("domain '%s': ", d->spec);
	HV_AUTO_TEXT struct hv_text why = {0};
	const char *reason = err->message;

	if (hv_starts_with(reason, domain))
		reason += strlen(domain);
	hv_text_add_guest(&why, reason, strlen(reason));
	hv_err_free(err);
	d->ended = hv_text_take(&why);
	own_session_close(&d->session);
	d->session = (struct own_session)OWN_SESSION_NONE;
	hv_close_at(&d->exits);
}

struct hv_err *top_domain_begin_waits(struct top_domain *d)
{
	static unsigned nr;
	HV_AUTO_FREE char *instance = hv_format("top-waits-%d-%u", (int)getpid(), ++nr);

	return in_domain_of(d, top_waits_begin(&d->waits, client_of(d), instance));
}

struct hv_err *top_domain_begin_programs(struct top_domain *d)
{
	static unsigned nr;
	HV_AUTO_FREE char *instance = hv_format("top-programs-%d-%u", (int)getpid(), ++nr);

	return in_domain_of(d, top_programs_begin(&d->programs, client_of(d), instance));
}

void top_domain_turn(struct top_domain *d)
{
	struct hv_err *err = d->ended ? NULL : top_waits_take(&d->waits);

	if (!d->ended && !err)
		err = top_programs_take(&d->programs);

	if (err)
		end(d, err);
}

void top_domain_look(struct top_domain *d)
{
	struct top_counts room = d->before.counts;
	struct hv_err *err;

	if (d->ended)
		return;
	d->before = d->now;
	top_counts_clear(&room);
	d->now = (struct top_look){.counts = room};
	err = look(d);
	if (err)
		end(d, err);
}
