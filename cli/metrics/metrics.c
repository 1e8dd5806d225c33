/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/metrics/metrics.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/errand.h"
#include "cli/metrics/profile.h"
#include "cli/session_stat.h"

/* -- the text --------------------------------------------------------------------------------- */

#define LABEL_LEN_MAX	 256
#define NR_FUNCTION_KEYS 2

/* A metric from a number in a session's stat. */
struct metric {
	const char *name;
	const char *type;
	const char *help;
	const char *path; /* member in the stat */
	double unit;	  /* factor from the stat's unit to the metric's unit */
};

static const struct metric metrics[] = {
	{"hvtrace_attached_seconds", "gauge", "Age of the session.", "attached_ms", 1e-3},
	{"hvtrace_events_total", "counter", "Events read from the guest.", "events", 1},
	{"hvtrace_lost_events_total", "counter", "Events that the guest could not keep.", "lost",
	 1},
	{"hvtrace_holds_total", "counter", "How often all vCPUs were stopped.", "holds.count", 1},
	{"hvtrace_hold_seconds_total", "counter", "Time for which all vCPUs were stopped.",
	 "holds.total_ns", 1e-9},
	{"hvtrace_hold_seconds_max", "gauge", "The longest stop of all vCPUs.", "holds.max_ns",
	 1e-9},
	{"hvtrace_functions_traceable", "gauge", "Functions that can be traced.", "sites.traceable",
	 1},
	{"hvtrace_functions_patched", "gauge", "Functions that are traced now.", "sites.patched",
	 1},
	{"hvtrace_functions_refused", "gauge", "Functions that could not be patched.",
	 "sites.refused", 1},
	{"hvtrace_vcpus", "gauge", "Virtual CPUs of the guest.", "vcpus", 1},
	{"hvtrace_region_bytes", "gauge", "Memory shared with the guest.", "memory.region_bytes",
	 1},
	{"hvtrace_clients", "gauge", "Programs connected to the session.", "clients", 1},
	{"hvtrace_overhead_ratio", "gauge",
	 "Estimated part of a vCPU's time that tracing takes now; the highest of all vCPUs.",
	 "budget.load_ppm", 1e-6},
	{"hvtrace_overhead_seconds_total", "counter",
	 "Estimated vCPU time that tracing took while it was measured.", "budget.taken_ns", 1e-9},
};

/* Adds a label with the format's escapes. Replaces control characters and invalid UTF-8, which
 * readers reject, by '?'. */
static void add_label(struct hv_text *t, const char *name, const char *value)
{
	HV_AUTO_TEXT struct hv_text safe = {0};

	hv_text_add(&safe, "");
	hv_text_add_utf8(&safe, value, LABEL_LEN_MAX);
	hv_text_printf(t, "%s=\"", name);
	for (const char *c = safe.data; *c; c++) {
		if (*c == '"' || *c == '\\')
			hv_text_add_char(t, '\\');
		hv_text_add_char(t, *c);
	}
	hv_text_add(t, "\"");
}

static void add_head(struct hv_text *t, const char *name, const char *type, const char *help)
{
	hv_text_printf(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_series(struct hv_text *t, const char *name, const struct metrics_domain *d)
{
	hv_text_printf(t, "%s{", name);
	add_label(t, "domain", d->name);
	hv_text_add(t, ",");
	add_label(t, "id", d->id);
}

static void add_value(struct hv_text *t, double value)
{
	hv_text_printf(t, "} %.15g\n", value);
}

static void add_metric(struct hv_text *t, const struct metric *m,
		       const struct metrics_domain *domains, size_t nr)
{
	add_head(t, m->name, m->type, m->help);
	for (size_t i = 0; i < nr; i++) {
		if (!session_stat_member(domains[i].stat, m->path))
			continue;
		add_series(t, m->name, &domains[i]);
		add_value(t, (double)session_stat_number(domains[i].stat, m->path) * m->unit);
	}
}

static void add_up(struct hv_text *t, const struct metrics_domain *domains, size_t nr)
{
	add_head(t, "hvtrace_up", "gauge", "Whether the session of the domain answers.");
	for (size_t i = 0; i < nr; i++) {
		add_series(t, "hvtrace_up", &domains[i]);
		add_value(t, domains[i].stat ? 1 : 0);
	}
}

static void add_info(struct hv_text *t, const struct metrics_domain *domains, size_t nr)
{
	add_head(t, "hvtrace_session_info", "gauge", "The session's kernel and tracer, in labels.");
	for (size_t i = 0; i < nr; i++) {
		json_object *stat = domains[i].stat;

		if (!stat)
			continue;
		add_series(t, "hvtrace_session_info", &domains[i]);
		hv_text_add(t, ",");
		add_label(t, "kernel", session_stat_string(stat, "kernel"));
		hv_text_add(t, ",");
		add_label(t, "tracer", session_stat_string(stat, "current_tracer"));
		hv_text_add(t, ",");
		add_label(t, "tracing", session_stat_string(stat, "tracing_on"));
		add_value(t, 1);
	}
}

/* KEY 0: hits, 1: time. */
static void add_functions(struct hv_text *t, const struct metrics_config *config, int key,
			  const struct metrics_domain *domains, size_t nr)
{
	static const char *const names[NR_FUNCTION_KEYS] = {"hvtrace_function_hits_total",
							    "hvtrace_function_seconds_total"};
	static const char *const help[NR_FUNCTION_KEYS] = {
		"Calls of a function, from the guest's profile.",
		"Time in a function, including its callees, from the guest's profile."};

	add_head(t, names[key], "counter", help[key]);
	for (size_t i = 0; i < nr; i++)
		for (size_t f = 0; f < config->nr_functions && domains[i].is_profiled; f++) {
			const struct metrics_function *count = &domains[i].functions[f];

			add_series(t, names[key], &domains[i]);
			hv_text_add(t, ",");
			add_label(t, "function", config->functions[f]);
			add_value(t, key ? count->time_us / 1e6 : (double)count->hits);
		}
}

/* Adds the host scheduler's counters of the vCPU threads. */
static void add_time(struct hv_text *t, const struct metrics_domain *domains, size_t nr)
{
	add_head(t, "hvtrace_vcpu_run_seconds_total", "counter",
		 "Time for which the host ran the vCPUs.");
	for (size_t i = 0; i < nr; i++) {
		if (!domains[i].has_time)
			continue;
		add_series(t, "hvtrace_vcpu_run_seconds_total", &domains[i]);
		add_value(t, (double)domains[i].time.run_ns / 1e9);
	}
	add_head(t, "hvtrace_steal_seconds_total", "counter",
		 "Time for which vCPUs could have run, but the host ran something else.");
	for (size_t i = 0; i < nr; i++) {
		if (!domains[i].has_time)
			continue;
		add_series(t, "hvtrace_steal_seconds_total", &domains[i]);
		add_value(t, (double)domains[i].time.wait_ns / 1e9);
	}
}

/* Description of one kind of wait. */
struct waits {
	const char *measured, *measured_help;
	const char *histogram, *histogram_help;
	const char *lost;
	size_t times, is_measured; /* offsets in struct metrics_waits */
};

static const struct waits of_tasks = {
	.measured = "hvtrace_runqueue_measured",
	.measured_help = "Whether waits of the guest's tasks for a vCPU are measured now.",
	.histogram = "hvtrace_runqueue_wait_seconds",
	.histogram_help = "Waits of the guest's tasks for a vCPU, from wake-up or preemption "
			  "until they ran.",
	.lost = "hvtrace_runqueue_lost_events_total",
	.times = offsetof(struct metrics_waits, times.tasks),
	.is_measured = offsetof(struct metrics_waits, has_tasks),
};

static const struct waits of_vcpus = {
	.measured = "hvtrace_steal_measured",
	.measured_help = "Whether waits of the vCPUs for a CPU of the host are measured now.",
	.histogram = "hvtrace_steal_wait_seconds",
	.histogram_help = "Waits of the vCPUs for a CPU of the host, from wake-up or preemption "
			  "until they ran.",
	.lost = "hvtrace_steal_lost_events_total",
	.times = offsetof(struct metrics_waits, times.vcpus),
	.is_measured = offsetof(struct metrics_waits, has_vcpus),
};

static const struct hv_wait_times *times_of(const struct metrics_domain *d, const struct waits *of)
{
	return (const void *)((const char *)&d->waits + of->times);
}

static bool is_measured(const struct metrics_domain *d, const struct waits *of)
{
	return *(const bool *)((const char *)&d->waits + of->is_measured);
}

/* Adds one series of a histogram, NAME with SUFFIX appended. LE may be NULL. */
static void add_part(struct hv_text *t, const struct metrics_domain *d, const char *name,
		     const char *suffix, const char *le, double value)
{
	HV_AUTO_FREE char *whole = hv_format("%s%s", name, suffix);

	add_series(t, whole, d);
	if (le) {
		hv_text_add(t, ",");
		add_label(t, "le", le);
	}
	add_value(t, value);
}

static void add_histogram(struct hv_text *t, const struct metrics_domain *d, const char *name,
			  const struct hv_wait_times *w)
{
	uint64_t nr = 0;

	for (size_t i = 0; i < HV_WAIT_TIMES_BOUNDS; i++) {
		char le[32];

		snprintf(le, sizeof(le), "%.15g", (double)hv_wait_times_bounds_ns[i] / 1e9);
		nr += w->nr[i];
		add_part(t, d, name, "_bucket", le, (double)nr);
	}
	nr += w->nr[HV_WAIT_TIMES_BOUNDS];
	add_part(t, d, name, "_bucket", "+Inf", (double)nr);
	add_part(t, d, name, "_sum", NULL, (double)w->sum_ns / 1e9);
	add_part(t, d, name, "_count", NULL, (double)nr);
}

static void add_waits(struct hv_text *t, const struct metrics_domain *domains, size_t nr,
		      const struct waits *of)
{
	add_head(t, of->measured, "gauge", of->measured_help);
	for (size_t i = 0; i < nr; i++) {
		add_series(t, of->measured, &domains[i]);
		add_value(t, is_measured(&domains[i], of));
	}
	add_head(t, of->histogram, "histogram", of->histogram_help);
	for (size_t i = 0; i < nr; i++)
		if (domains[i].has_waits)
			add_histogram(t, &domains[i], of->histogram, times_of(&domains[i], of));
	add_head(t, of->lost, "counter",
		 "Lost scheduler events; the waits that they begin or end are missing.");
	for (size_t i = 0; i < nr; i++)
		if (domains[i].has_waits)
			add_part(t, &domains[i], of->lost, "", NULL,
				 (double)times_of(&domains[i], of)->nr_lost);
}

void metrics_text_add(struct hv_text *t, const struct metrics_config *config,
		      const struct metrics_domain *domains, size_t nr)
{
	add_up(t, domains, nr);
	add_info(t, domains, nr);
	for (size_t i = 0; i < HV_ARRAY_LEN(metrics); i++)
		add_metric(t, &metrics[i], domains, nr);
	add_time(t, domains, nr);
	if (config->has_runqueue)
		add_waits(t, domains, nr, &of_tasks);
	if (config->has_steal)
		add_waits(t, domains, nr, &of_vcpus);
	for (int key = 0; key < NR_FUNCTION_KEYS && config->nr_functions; key++)
		add_functions(t, config, key, domains, nr);
}

/* -- the query -------------------------------------------------------------------------------- */

#define ANSWER_S  2
#define AT_A_TIME 64 /* sessions queried in parallel */

struct counting {
	const struct metrics_config *config;
	struct metrics_domain *domain;
};

static void count(void *ctx, const char *name, uint64_t hits, double time_us)
{
	const struct counting *c = ctx;

	for (size_t i = 0; i < c->config->nr_functions; i++)
		if (strncmp(name, c->config->functions[i], PROFILE_NAME_MAX) == 0) {
			c->domain->functions[i].hits += hits;
			c->domain->functions[i].time_us += time_us;
		}
}

static struct hv_err *read_profile(const struct metrics_config *config, struct client *c,
				   struct metrics_domain *d)
{
	HV_AUTO_TEXT struct hv_text enabled = {0};
	struct counting counting = {config, d};
	struct hv_err *err = client_get(c, "function_profile_enabled", &enabled);

	if (err)
		return err;
	hv_text_add(&enabled, "");
	if (enabled.data[0] != '1')
		return NULL;
	err = profile_read(c, "", session_stat_number(d->stat, "vcpus"), ANSWER_S * 1000, count,
			   &counting);
	d->is_profiled = !err;
	return err;
}

/* Leaves D without a stat if the session does not answer. */
static void ask(const struct metrics_config *config, const struct rundir_info *info,
		struct metrics_domain *d)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct hv_err *err = sessions_connect(config->errand, info->id, &c);

	client_within(&c, ANSWER_S);
	if (!err)
		err = session_watch(&c);
	if (!err)
		err = session_stat_get(&c, &d->stat);
	client_within(&c, ANSWER_S);
	if (!err && config->nr_functions)
		err = read_profile(config, &c, d);
	hv_err_free(err);
	if (d->stat)
		d->has_time = vcpu_time_read(info->vmm_pid, &d->time);
}

/* One session of a parallel query. */
struct asked {
	const struct metrics_config *config;
	const struct rundir_info *info;
	struct metrics_domain *domain;
	pthread_t thread;
	bool has_thread;
};

static void *ask_main(void *arg)
{
	struct asked *a = arg;

	ask(a->config, a->info, a->domain);
	return NULL;
}

static void ask_all(struct asked *list, size_t nr)
{
	for (size_t begin = 0, end; begin < nr; begin = end) {
		end = begin + AT_A_TIME < nr ? begin + AT_A_TIME : nr;
		for (size_t i = begin; i < end; i++) {
			list[i].has_thread =
				pthread_create(&list[i].thread, NULL, ask_main, &list[i]) == 0;
			if (!list[i].has_thread)
				ask_main(&list[i]);
		}
		for (size_t i = begin; i < end; i++)
			if (list[i].has_thread)
				pthread_join(list[i].thread, NULL);
	}
}

struct hv_err *metrics_add(const struct metrics_config *config, struct hv_text *ret)
{
	HV_AUTO_FREE struct metrics_domain *domains = NULL;
	HV_AUTO_FREE struct asked *asked = NULL;
	struct rundir_info *sessions = NULL;
	size_t nr_sessions = 0, nr = 0;
	struct hv_err *err = sessions_list(config->errand, &sessions, &nr_sessions);

	if (err)
		return err;
	domains = hv_alloc((nr_sessions + 1) * sizeof(*domains));
	asked = hv_alloc((nr_sessions + 1) * sizeof(*asked));
	for (; nr < nr_sessions; nr++) {
		domains[nr].name = sessions[nr].name;
		domains[nr].id = sessions[nr].id;
		asked[nr] = (struct asked){
			.config = config, .info = &sessions[nr], .domain = &domains[nr]};
	}
	ask_all(asked, nr);
	for (size_t i = 0; i < nr; i++)
		if (domains[i].stat && config->waits)
			domains[i].has_waits =
				config->waits(config->ctx, domains[i].id, &domains[i].waits);
	metrics_text_add(ret, config, domains, nr);
	for (size_t i = 0; i < nr; i++)
		session_stat_put(&domains[i].stat);
	rundir_list_free(sessions, nr_sessions);
	return NULL;
}
