/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/metrics/metrics.h"

#include <pthread.h>
#include <string.h>

#include "cli/errand.h"
#include "cli/metrics/metrics_text.h"
#include "cli/metrics/profile.h"
#include "cli/session_stat.h"

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
