/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/text.h"
#include "cli/client.h"
#include "cli/verbs/record/recording.h"
#include "latency/decode.h"
#include "latency/stall.h"

/* -- sections ---------------------------------------------------------------------------------- */

#define NS_PER_US 1000

static struct hv_err *set_threshold(const struct latency_sections *s, struct client *c,
				    const char *dir)
{
	HV_AUTO_FREE char *path = hv_format("%s/tracing_max_latency", dir);
	HV_AUTO_FREE char *us = hv_format("%llu", (unsigned long long)s->threshold_us);

	return client_echo(c, path, us);
}

struct hv_err *latency_sections_begin(struct latency_sections *s, struct client *c, const char *dir,
				      uint64_t threshold_ns, char **ret_why)
{
	static const char *const tracers[] = {"preemptirqsoff", "irqsoff", "preemptoff"};
	HV_AUTO_FREE char *path = hv_format("%s/current_tracer", dir);
	HV_AUTO_ERR struct hv_err *why = NULL;

	*ret_why = NULL;
	*s = (struct latency_sections){.threshold_us = threshold_ns / NS_PER_US};
	for (size_t i = 0; i < HV_ARRAY_LEN(tracers) && !s->tracer; i++) {
		struct hv_err *err = client_echo(c, path, tracers[i]);

		if (client_is_gone(err))
			return err;
		if (!err)
			s->tracer = tracers[i];
		hv_err_keep_first(&why, err);
	}
	if (s->tracer)
		return set_threshold(s, c, dir);
	*ret_why = hv_strdup(why->message);
	return NULL;
}

struct hv_err *latency_sections_take(struct latency_sections *s, struct client *c, const char *dir,
				     struct hv_latency *l)
{
	HV_AUTO_FREE char *path = hv_format("%s/trace", dir);
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_stall section;
	uint64_t us = 0;
	struct hv_err *err = s->tracer ? record_section_longest_us(c, dir, &us) : NULL;

	if (!err && us <= s->threshold_us)
		hv_latency_end_sections(l);
	if (err || us <= s->threshold_us)
		return err;
	err = client_get(c, path, &text);
	if (err)
		return client_error(path, err);
	hv_text_add(&text, "");
	if (hv_section_text_read(text.data, &section))
		hv_latency_add_section(l, &section);
	hv_latency_end_sections(l);
	return set_threshold(s, c, dir);
}

/* -- stacks ------------------------------------------------------------------------------------ */

static struct hv_err *put_trigger(struct client *c, const char *dir,
				  const struct hv_wanted_event *w, const char *before)
{
	HV_AUTO_FREE char *path = hv_format("%s/events/%s/%s/trigger", dir, w->system, w->name);
	HV_AUTO_FREE char *text = hv_format("%s%s\n", before, w->stack);

	return client_put(c, path, O_WRONLY, text);
}

/* Missing events are not reported here but by find_events() in latency.c. */
struct hv_err *latency_stacks_begin(struct latency_stacks *s, struct client *c, const char *dir,
				    char **ret_why)
{
	HV_AUTO_ERR struct hv_err *why = NULL;

	*ret_why = NULL;
	for (size_t i = 0; i < hv_nr_wanted_events; i++) {
		const struct hv_wanted_event *w = &hv_wanted_events[i];
		struct hv_err *err = w->stack ? put_trigger(c, dir, w, "") : NULL;

		if (client_is_gone(err))
			return err;
		if (w->stack && !err)
			s->kinds |= UINT32_C(1) << w->kind;
		if (err && err->code == ENOENT)
			hv_err_free(err);
		else
			hv_err_keep_first(&why, err);
	}
	if (!s->kinds && why)
		*ret_why = hv_strdup(why->reason);
	return NULL;
}

void latency_stacks_report(const struct latency_stacks *s, struct hv_latency *l)
{
	for (unsigned kind = 0; kind < HV_NR_MOMENTS; kind++)
		if (s->kinds & UINT32_C(1) << kind)
			hv_latency_begin_stacks(l, kind);
}

struct hv_err *latency_stacks_end(struct latency_stacks *s, struct client *c, const char *dir,
				  struct hv_latency *l)
{
	for (size_t i = 0; i < hv_nr_wanted_events; i++) {
		const struct hv_wanted_event *w = &hv_wanted_events[i];
		struct hv_err *err = w->stack ? put_trigger(c, dir, w, "!") : NULL;

		if (client_is_gone(err))
			return err;
		hv_err_free(err);
	}
	s->kinds = 0;
	hv_latency_end_stacks(l);
	return NULL;
}

/* -- events of the host ------------------------------------------------------------------------ */

#define EXIT_NS	    500 /* cost of recording an exit and its entry: two tracepoints of the host */
#define OVER_MAX    2	/* successive costly checks that do not disable exits: a storm of 1 s */
#define PPM	    1000000
#define EXIT_EVENT  "kvm_exit"
#define ENTRY_EVENT "kvm_entry"

static struct hv_err *put_event(struct client *c, const char *dir, const char *words)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", dir);

	return client_put(c, path, O_WRONLY | O_APPEND, words);
}

/* Enables all events or none. If one is missing, the caller gets the reason. */
struct hv_err *latency_host_events_begin(struct latency_host_events *h, struct client *c,
					 const char *dir, char **ret_why)
{
	HV_AUTO_TEXT struct hv_text words = {0};
	struct hv_err *err;

	*ret_why = NULL;
	for (size_t i = 0; i < hv_nr_wanted_events; i++)
		if (hv_wanted_event_is_hosts(&hv_wanted_events[i]))
			hv_text_printf(&words, "%s:%s ", hv_wanted_events[i].system,
				       hv_wanted_events[i].name);
	hv_text_add(&words, "\n");
	err = put_event(c, dir, words.data);
	h->is_on = h->has_exits = !err;
	if (!err || client_is_gone(err))
		return err;
	*ret_why = hv_strdup(err->reason);
	hv_err_free(err);
	hv_err_free(put_event(c, dir, "!" HV_WANTED_HOST ":*\n"));
	return NULL;
}

static struct hv_err *give_up(struct latency_host_events *h, struct client *c, const char *dir)
{
	struct hv_err *err = put_event(
		c, dir, "!" HV_WANTED_HOST ":" EXIT_EVENT " !" HV_WANTED_HOST ":" ENTRY_EVENT "\n");

	h->has_exits = false;
	return err;
}

struct hv_err *latency_host_events_look(struct latency_host_events *h, struct client *c,
					const char *dir, struct hv_latency *l, uint64_t max_ppm,
					bool *ret_gave_up)
{
	uint64_t now = hv_now_ns(), passed = now - h->looked_ns, nr;

	*ret_gave_up = false;
	if (!h->has_exits || passed < HV_NS_PER_S)
		return NULL;
	nr = hv_exits_since(&l->threads.exits);
	h->nr_over = h->looked_ns && nr * EXIT_NS > passed / PPM * max_ppm ? h->nr_over + 1 : 0;
	h->looked_ns = now;
	if (h->nr_over <= OVER_MAX)
		return NULL;
	*ret_gave_up = true;
	return give_up(h, c, dir);
}

/* -- limits of cgroups ------------------------------------------------------------------------- */

#define FILE_NAME "kprobe_events"
#define GROUP	  "cfs_rq->tg->css.cgroup->kn"
#define BANDWIDTH "cfs_rq->tg->cfs_bandwidth."
#define RUN_QUEUE " tg=cfs_rq->tg cpu=cfs_rq->rq->cpu"

static struct hv_err *put_probe(struct client *c, const char *line)
{
	return client_put(c, FILE_NAME, O_WRONLY | O_APPEND, line);
}

/* An existing definition was made by this or another command and is identical. */
static struct hv_err *define(struct client *c, const char *line)
{
	struct hv_err *err = put_probe(c, line);

	if (!err || err->code != EEXIST)
		return err;
	hv_err_free(err);
	return NULL;
}

/* Defines a probe that records the names of the throttled group and its ancestors. PARENT is the
 * member of struct kernfs_node that points to the parent. */
static struct hv_err *define_throttle(struct client *c, const char *parent)
{
	HV_AUTO_TEXT struct hv_text line = {0};

	hv_text_printf(&line, "p:" HV_LIMIT_SYSTEM "/" HV_LIMIT_EVENT " throttle_cfs_rq" RUN_QUEUE
			      " curr=cfs_rq->curr " HV_LIMIT_QUOTA "=" BANDWIDTH
			      "quota " HV_LIMIT_PERIOD "=" BANDWIDTH "period");
	for (unsigned i = 0; i < HV_LIMIT_NAMES; i++) {
		hv_text_printf(&line, " " HV_LIMIT_NAME "%u=" GROUP, i);
		for (unsigned up = 0; up < i; up++)
			hv_text_printf(&line, "->%s", parent);
		hv_text_add(&line, "->name:string");
	}
	hv_text_add(&line, "\n");
	return define(c, line.data);
}

/* PARENT was renamed in Linux 6.15 (633488947ef6, "kernfs: Use RCU to access
 * kernfs_node::parent"). */
static struct hv_err *define_all(struct client *c)
{
	struct hv_err *err = define_throttle(c, "parent");

	if (err && err->code == ENOENT) {
		hv_err_free(err);
		err = define_throttle(c, "__parent");
	}
	return err ? err
		   : define(c, "p:" HV_LIMIT_SYSTEM "/" HV_UNLIMIT_EVENT
			       " unthrottle_cfs_rq" RUN_QUEUE "\n");
}

struct hv_err *latency_limits_begin(struct latency_limits *l, struct client *c, char **ret_why)
{
	struct hv_err *err = define_all(c);

	*ret_why = NULL;
	l->is_defined = true;
	l->is_on = !err;
	if (!err || client_is_gone(err))
		return err;
	*ret_why = hv_strdup(err->reason);
	hv_err_free(err);
	return NULL;
}

/* Other commands may record the event, or may have removed it. */
static struct hv_err *remove_event(struct client *c, const char *event)
{
	HV_AUTO_FREE char *line = hv_format("-:" HV_LIMIT_SYSTEM "/%s\n", event);
	struct hv_err *err = put_probe(c, line);

	if (!err || (err->code != EBUSY && err->code != ENOENT))
		return err;
	hv_err_free(err);
	return NULL;
}

struct hv_err *latency_limits_end(struct latency_limits *l, struct client *c)
{
	struct hv_err *err;

	if (!l->is_defined)
		return NULL;
	err = remove_event(c, HV_LIMIT_EVENT);
	if (!client_is_gone(err))
		hv_err_keep_first(&err, remove_event(c, HV_UNLIMIT_EVENT));
	return err;
}

/* -- calls of functions ----------------------------------------------------------------------- */

#define TURNS_MAX 50 /* limit for takes of the recorded events */
#define HOST_TIME "options/funcgraph-host"
#define TRACER	  "current_tracer"
#define GRAPH	  "function_graph"

void latency_calls_deinit(struct latency_calls *l)
{
	recording_deinit(&l->recording);
	hv_text_deinit(&l->filter);
}

void latency_calls_want(struct latency_calls *l, const char *glob)
{
	hv_text_printf(&l->filter, "%s%s", l->filter.len_bytes ? " " : "", glob);
}

/* If the host's share of calls is unavailable, records the calls without it: KVM may provide no
 * steal time, or the guest's own ftrace may use the functions in which tasks leave the CPU. */
static struct hv_err *start_graph(const struct recording *r, char **ret_no_host)
{
	struct hv_err *err = recording_set(r, HOST_TIME, "1");

	if (!err)
		err = recording_set(r, TRACER, GRAPH);
	if (!err || client_is_gone(err))
		return err;
	*ret_no_host = hv_strdup(err->reason);
	hv_err_free(err);
	err = recording_set(r, HOST_TIME, "0");
	return err ? err : recording_set(r, TRACER, GRAPH);
}

struct hv_err *latency_calls_begin(struct latency_calls *l, struct client *c, const char *clock,
				   char **ret_no_host)
{
	HV_AUTO_FREE char *instance = hv_format("latency-%d-calls", (int)getpid());
	const struct record_request q = {
		.instance = instance,
		.clock = clock,
		.target = {.path = "calls", .format = &hv_calls_format},
	};
	struct hv_err *err;

	if (!l->filter.len_bytes)
		return NULL;
	recording_init(&l->recording, &q.target);
	err = recording_begin(&l->recording, c, &q);
	if (!err)
		err = recording_set(&l->recording, "set_ftrace_filter", l->filter.data);
	return err ? err : start_graph(&l->recording, ret_no_host);
}

struct hv_err *latency_calls_start(struct latency_calls *l)
{
	struct hv_err *err;

	if (!l->recording.dir)
		return NULL;
	err = recording_open(&l->recording);
	if (err)
		return err;
	l->is_on = true;
	return recording_start(&l->recording);
}

struct hv_err *latency_calls_take(struct latency_calls *l, bool *ret_more)
{
	bool more = false;
	struct hv_err *err = NULL;

	if (recording_is_open(&l->recording))
		err = recording_take(&l->recording, 0, &more);
	*ret_more |= more;
	return err;
}

struct hv_err *latency_calls_stop(struct latency_calls *l)
{
	struct hv_err *err = l->is_on ? recording_stop(&l->recording) : NULL;

	l->is_on = false;
	return err;
}

/* Takes the events before it removes the tracer, because without a tracer the buffer is empty. */
struct hv_err *latency_calls_give_up(struct latency_calls *l)
{
	bool more = true;
	struct hv_err *err = latency_calls_stop(l);

	for (unsigned i = 0; !err && more && i < TURNS_MAX; i++) {
		more = false;
		err = latency_calls_take(l, &more);
	}
	return err ? err : recording_set(&l->recording, TRACER, "nop");
}

struct hv_err *latency_calls_end(struct latency_calls *l)
{
	return record_file_end(&l->recording.file);
}

struct hv_err *latency_calls_close(struct latency_calls *l)
{
	struct hv_err *err = recording_close(&l->recording);

	if (!client_is_gone(err))
		hv_err_keep_first(&err, recording_remove(&l->recording));
	return err;
}
