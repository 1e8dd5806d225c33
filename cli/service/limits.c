/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/limits.h"

#include "base/clock.h"
#include "cli/service/ending.h"
#include "cli/service/state.h"
#include "cli/service/trail.h"

#define AGAIN_NS    (2 * HV_NS_PER_S)
#define MEASURED_NS (120 * HV_NS_PER_S) /* longer than a monitoring system's interval */

uint64_t limits_overhead_ppm(const struct service *s)
{
	uint64_t least = s->config->max_overhead_ppm;

	for (size_t i = 0; i < s->nr_peers; i++) {
		uint64_t its = s->peers[i]->max_overhead_ppm;

		if (its == WIRE_NO_LIMIT)
			its = LIMITS_NONE;
		if (its && (!least || its < least))
			least = its;
	}
	if (!least && hv_now_ns() < s->limits.measured_ns)
		return LIMITS_NONE;
	return least;
}

void limits_measure(struct service *s, uint64_t now_ns)
{
	s->limits.measured_ns = now_ns + MEASURED_NS;
}

static bool is_used(const struct service *s)
{
	for (size_t i = 0; i < s->nr_peers; i++)
		if (!s->peers[i]->only_watches)
			return true;
	return false;
}

static void audit_put_back(struct service *s, uint64_t limit_ppm, size_t nr,
			   const struct trail_step *step)
{
	struct audit_actor self = audit_actor_self();
	HV_AUTO_TEXT struct hv_text names = {0};
	uint64_t load_ppm = hv_tree_load(s->tree, &names);
	struct hv_session_stat now;
	struct audit_entry e;

	hv_session_stat(s->session, &now);
	e = audit_begin(&s->audit, &self, "budget");
	audit_number(&e, "limit_ppm", limit_ppm);
	audit_number(&e, "load_ppm", load_ppm);
	audit_number(&e, "functions", nr);
	audit_text(&e, "not_traced", names.data ? names.data : "");
	audit_number(&e, "bytes", now.bytes_changed - step->before.bytes_changed);
	audit_number(&e, "held_us", (now.hold_total_ns - step->before.hold_total_ns) / 1000);
	audit_end(&e);
}

static void keep_budget(struct service *s, uint64_t now_ns)
{
	uint64_t limit_ppm = limits_overhead_ppm(s);
	struct trail_step step;
	struct hv_err *err;
	size_t nr = 0;

	if (!limit_ppm || now_ns < s->limits.look_ns)
		return;
	s->limits.look_ns = now_ns + HV_BUDGET_NS;
	step = trail_begin(s);
	err = hv_tree_keep_budget(s->tree, limit_ppm, now_ns, &nr);
	if (err)
		audit_log(&s->audit, "cannot restore costly functions: %s", err->message);
	else if (nr)
		audit_put_back(s, limit_ppm, nr, &step);
	hv_err_free(err);
}

/* Retries a failed detach, because no other code would end the session. */
static void end_session(struct service *s, uint64_t now_ns, const char *why)
{
	if (now_ns < s->limits.begins_again)
		return;
	s->limits.begins_again = now_ns + AGAIN_NS;
	audit_log(&s->audit, "%s: detaching", why);
	ending_begin_detach(s, NULL);
	s->detach.must_end = false;
}

void limits_keep(struct service *s, uint64_t now_ns)
{
	const struct service_config *config = s->config;

	if (is_used(s) || !s->limits.used_ns)
		s->limits.used_ns = now_ns;
	if (config->for_ns && now_ns - s->attached_ns >= config->for_ns)
		end_session(s, now_ns, "the session's time is over");
	else if (config->idle_ns && now_ns - s->limits.used_ns >= config->idle_ns)
		end_session(s, now_ns, "no client uses the session");
	else
		keep_budget(s, now_ns);
}
