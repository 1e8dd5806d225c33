/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/metrics.h"

#include <string.h>

#include "cli/domain_state.h"
#include "cli/profile.h"
#include "cli/session_stat.h"

#define ANSWER_S	 2
#define LABEL_LEN_MAX	 256
#define NR_FUNCTION_KEYS 2

/* A function of a profile, of all vCPUs together. */
struct function_count {
	uint64_t hits;
	double time_us;
};

struct domain {
	const struct rundir_info *info;
	json_object *stat; /* NULL: it does not answer */
	bool is_profiled;
	struct function_count functions[METRICS_FUNCTIONS_MAX];
};

/* A number of a session's stat. */
struct metric {
	const char *name;
	const char *type;
	const char *help;
	const char *path; /* in the stat */
	double unit;	  /* what 1 of the stat is in the metric's unit */
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
};

/* A label's value: what the format needs is escaped, other control characters become '?'. */
static void add_label(struct hv_text *t, const char *name, const char *value)
{
	hv_text_printf(t, "%s=\"", name);
	for (size_t i = 0; value[i] && i < LABEL_LEN_MAX; i++) {
		char c = value[i];

		if (c == '"' || c == '\\')
			hv_text_add_bytes(t, "\\", 1);
		if ((unsigned char)c < ' ' || c == 0x7f)
			c = '?';
		hv_text_add_bytes(t, &c, 1);
	}
	hv_text_add(t, "\"");
}

static void add_head(struct hv_text *t, const char *name, const char *type, const char *help)
{
	hv_text_printf(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_series(struct hv_text *t, const char *name, const struct domain *d)
{
	hv_text_printf(t, "%s{", name);
	add_label(t, "domain", d->info->name);
	hv_text_add(t, ",");
	add_label(t, "id", d->info->id);
}

static void add_value(struct hv_text *t, double value)
{
	hv_text_printf(t, "} %.15g\n", value);
}

static void add_metric(struct hv_text *t, const struct metric *m, const struct domain *domains,
		       size_t nr)
{
	add_head(t, m->name, m->type, m->help);
	for (size_t i = 0; i < nr; i++) {
		if (!domains[i].stat)
			continue;
		add_series(t, m->name, &domains[i]);
		add_value(t, (double)session_stat_number(domains[i].stat, m->path) * m->unit);
	}
}

static void add_up(struct hv_text *t, const struct domain *domains, size_t nr)
{
	add_head(t, "hvtrace_up", "gauge", "Whether the session of the domain answers.");
	for (size_t i = 0; i < nr; i++) {
		add_series(t, "hvtrace_up", &domains[i]);
		add_value(t, domains[i].stat ? 1 : 0);
	}
}

static void add_info(struct hv_text *t, const struct domain *domains, size_t nr)
{
	add_head(t, "hvtrace_session_info", "gauge", "What the session traces.");
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
			  const struct domain *domains, size_t nr)
{
	static const char *const names[NR_FUNCTION_KEYS] = {"hvtrace_function_hits_total",
							    "hvtrace_function_seconds_total"};
	static const char *const help[NR_FUNCTION_KEYS] = {
		"Calls of a function, by the guest's profile.",
		"Time in a function and what it called, by the guest's profile."};

	add_head(t, names[key], "counter", help[key]);
	for (size_t i = 0; i < nr; i++)
		for (size_t f = 0; f < config->nr_functions && domains[i].is_profiled; f++) {
			const struct function_count *count = &domains[i].functions[f];

			add_series(t, names[key], &domains[i]);
			hv_text_add(t, ",");
			add_label(t, "function", config->functions[f]);
			add_value(t, key ? count->time_us / 1e6 : (double)count->hits);
		}
}

struct counting {
	const struct metrics_config *config;
	struct domain *domain;
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
				   struct domain *d)
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
static void ask(const struct metrics_config *config, struct domain *d)
{
	AUTO_CLIENT struct client c = CLIENT_NONE;
	struct hv_err *err = client_connect(config->run_dir, d->info->id, d->info->uri, &c);

	if (!err)
		err = client_limit(&c, ANSWER_S);
	if (!err)
		err = session_stat_get(&c, &d->stat);
	if (!err && config->nr_functions)
		err = read_profile(config, &c, d);
	hv_err_free(err);
}

struct hv_err *metrics_add(const struct metrics_config *config, struct hv_text *ret)
{
	HV_AUTO_FREE struct domain *domains = NULL;
	struct rundir_info *sessions = NULL;
	size_t nr_sessions = 0, nr = 0;
	struct hv_err *err = rundir_list(config->run_dir, &sessions, &nr_sessions);

	if (err)
		return err;
	domains = hv_alloc((nr_sessions + 1) * sizeof(*domains));
	for (size_t i = 0; i < nr_sessions; i++)
		if (domain_state(&sessions[i]) == DOMAIN_ATTACHED) {
			domains[nr].info = &sessions[i];
			ask(config, &domains[nr++]);
		}
	add_up(ret, domains, nr);
	add_info(ret, domains, nr);
	for (size_t i = 0; i < HV_ARRAY_LEN(metrics); i++)
		add_metric(ret, &metrics[i], domains, nr);
	for (int key = 0; key < NR_FUNCTION_KEYS && config->nr_functions; key++)
		add_functions(ret, config, key, domains, nr);
	for (size_t i = 0; i < nr; i++)
		session_stat_put(&domains[i].stat);
	rundir_list_free(sessions, nr_sessions);
	return NULL;
}
