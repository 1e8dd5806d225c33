/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answer: why the guest is slow, in one or two sentences, and how the host's scheduler treated
 * each vCPU. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/prefix.h"
#include "cli/verbs/latency/report.h"

#define WAITING	    "waiting " /* prefix of some causes */
#define PERCENT	    100
#define PPM_PERCENT 10000
#define HOG_PPM	    200000 /* of a CPU: programs that used less are not named */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? PERCENT * (double)part / (double)whole : 0;
}

/* -- the host ---------------------------------------------------------------------------------- */

/* Adds the other users of the CPUs, as far as they are known. */
static void add_neighbours(struct hv_text *out, const struct latency_neighbours *n)
{
	if (n->nr_guests && n->nr_cpus) {
		hv_text_printf(out, ": %u guests share %u CPU%s", n->nr_guests + 1, n->nr_cpus,
			       hv_plural(n->nr_cpus));
		return;
	}
	if (n->busiest_ppm < HOG_PPM)
		return;
	hv_text_add(out, ": ");
	latency_add_task(out, &n->busiest);
	hv_text_printf(out, " of the host used %" PRIu64 " %% of a CPU",
		       n->busiest_ppm / PPM_PERCENT);
}

/* Returns a cause in which the host's events name the thread that had the vCPU's CPU. */
static const struct hv_cause *find_taker(const struct latency_report *r)
{
	for (size_t i = 0; i < r->verdict->nr; i++)
		if (r->verdict->list[i].longest.kind == HV_STALL_HOST &&
		    r->verdict->list[i].longest.by.pid)
			return &r->verdict->list[i];
	return NULL;
}

static bool is_limited(const struct latency_report *r, const struct hv_share *s)
{
	return r->vmm_limit && s->limited_ns && 2 * s->limited_ns >= s->waited_ns;
}

static void add_why(struct hv_text *out, const struct latency_report *r, const struct hv_share *s)
{
	const struct hv_cause *taker = find_taker(r);

	if (is_limited(r, s)) {
		hv_text_add(out, ": ");
		latency_add_vmm_limit(out, r->vmm_limit);
	} else if (r->neighbours && r->neighbours->nr_guests) {
		add_neighbours(out, r->neighbours);
	} else if (taker) {
		latency_add_taker(out, r->latency, &taker->longest);
	} else if (r->neighbours) {
		add_neighbours(out, r->neighbours);
	}
}

static unsigned count_deciding(const struct hv_shares *s)
{
	unsigned nr = 0;

	for (unsigned cpu = 0; cpu < s->nr; cpu++)
		nr += hv_share_decides(&s->list[cpu]);
	return nr;
}

static void add_host(struct hv_text *out, const struct latency_report *r, const struct hv_share *s)
{
	unsigned nr = count_deciding(&r->latency->shares);

	if (s->stopped_ns > s->waited_ns) {
		hv_text_printf(out, "vCPU %u was stopped on the host for %.0f %% of the time",
			       s->cpu, percent(s->stopped_ns, s->window_ns));
	} else {
		hv_text_printf(out, "The host ran vCPU %u for %.0f %% of the time it wanted",
			       s->cpu, percent(s->ran_ns, s->ran_ns + hv_share_taken_ns(s)));
		add_why(out, r, s);
	}
	if (nr > 1)
		hv_text_printf(out, " (and similarly %u other vCPU%s)", nr - 1, hv_plural(nr - 1));
	hv_text_add(out, ".");
}

/* -- causes ------------------------------------------------------------------------------------ */

static void add_mean(struct hv_text *out, const struct hv_cause *c)
{
	latency_add_time(out, c->nr ? c->total_ns / c->nr : c->longest.length_ns);
}

static void add_crowd(struct hv_text *out, const struct hv_cause *c)
{
	hv_text_printf(out,
		       "%" PRIu64 " programs of the tenant compete for %" PRIu64
		       " vCPU%s; each waits ",
		       c->nr_crowd, c->nr_crowd_cpus, hv_plural(c->nr_crowd_cpus));
	add_mean(out, c);
	hv_text_add(out, " at a time");
}

/* Example: "sh-412 waits 300 ms for a vCPU that greedy-413 used". */
static void add_waiting(struct hv_text *out, const struct latency_report *r,
			const struct hv_cause *c)
{
	const struct hv_stall *s = c->nr_victims && c->victim.task.pid ? &c->victim : &c->longest;
	HV_AUTO_TEXT struct hv_text cause = {0};

	latency_add_task(out, &s->task);
	hv_text_add(out, s->kind == HV_STALL_SLEEP ? " sleeps " : " waits ");
	latency_add_time(out, s->length_ns);
	latency_add_cause(&cause, r->latency, c);
	if (hv_starts_with(cause.data, WAITING))
		hv_text_printf(out, " %s", cause.data + strlen(WAITING));
	else
		hv_text_printf(out, ": %s", cause.data);
}

/* Adds an operation that itself takes long. Example: "block device 8:0: the device did not answer
 * for 251 ms". */
static void add_taking(struct hv_text *out, const struct latency_report *r,
		       const struct hv_cause *c)
{
	const struct hv_stall *s = &c->longest;

	if (s->task.pid && s->kind != HV_STALL_IO_DEVICE && s->kind != HV_STALL_IO_QUEUE &&
	    s->kind != HV_STALL_HOST) {
		latency_add_task(out, &s->task);
		hv_text_add(out, ": ");
	}
	latency_add_cause(out, r->latency, c);
	hv_text_add(out, " for ");
	latency_add_time(out, s->length_ns);
	if (s->end[0]) {
		hv_text_add(out, ", in ");
		hv_text_add_guest(out, s->end, sizeof(s->end));
	}
}

static void add_cause(struct hv_text *out, const struct latency_report *r, const struct hv_cause *c)
{
	switch (c->longest.kind) {
	case HV_STALL_RUNQUEUE:
		if (c->nr_crowd)
			add_crowd(out, c);
		else
			add_waiting(out, r, c);
		break;
	case HV_STALL_LIMIT:
	case HV_STALL_LOCK:
	case HV_STALL_RECLAIM:
	case HV_STALL_FAULTS:
	case HV_STALL_SLEEP:
		add_waiting(out, r, c);
		break;
	default:
		add_taking(out, r, c);
	}
	if (c->nr > 1 && !c->nr_crowd)
		hv_text_printf(out, ", %" PRIu64 " times", c->nr);
	hv_text_printf(out, "; fault: %s.", latency_phrase_fault(c->fault));
}

/* Returns the worst cause apart from the host's shares. */
static const struct hv_cause *find_cause(const struct latency_report *r, bool has_host)
{
	for (size_t i = 0; i < r->verdict->nr; i++) {
		const struct hv_cause *c = &r->verdict->list[i];

		if (!has_host || (c->longest.kind != HV_STALL_HOST && c->fault != HV_FAULT_UNKNOWN))
			return c;
	}
	return NULL;
}

void latency_add_answer(struct hv_text *out, const struct latency_report *r)
{
	const struct hv_share *host = hv_shares_worst(&r->latency->shares);
	const struct hv_cause *c = find_cause(r, host);

	if (host)
		add_host(out, r, host);
	if (host && c)
		hv_text_add(out, " Besides: ");
	if (c)
		add_cause(out, r, c);
	if (!host && !c) {
		hv_text_add(out, "nothing above ");
		latency_add_time(out, r->threshold_ns);
	}
	hv_text_add(out, "\n");
}

/* -- shares ------------------------------------------------------------------------------------ */

static int more_taken_first(const void *a, const void *b)
{
	const struct hv_share *x = a, *y = b;
	uint64_t taken_x = hv_share_taken_ns(x), taken_y = hv_share_taken_ns(y);

	if (taken_x != taken_y)
		return taken_x > taken_y ? -1 : 1;
	return x->cpu < y->cpu ? -1 : x->cpu > y->cpu;
}

static void add_share(struct hv_text *out, const struct hv_share *s)
{
	hv_text_printf(out,
		       "ran %.0f %%, waited for a CPU of the host %.0f %%, stopped %.0f %%, halted "
		       "%.0f %%",
		       percent(s->ran_ns, s->window_ns), percent(s->waited_ns, s->window_ns),
		       percent(s->stopped_ns, s->window_ns),
		       percent(hv_share_halted_ns(s), s->window_ns));
	if (s->limited_ns)
		hv_text_printf(out, " (at a limit of its cgroup %.0f %%)",
			       percent(s->limited_ns, s->window_ns));
	hv_text_add(out, "\n");
}

/* Adds the worst shares, up to a limit. */
void latency_add_shares(struct hv_text *out, const struct latency_report *r)
{
	const struct hv_shares *shares = &r->latency->shares;
	HV_AUTO_FREE struct hv_share *list = NULL;
	unsigned shown = 0;

	if (!shares->nr)
		return;
	if (shares->is_together) {
		hv_text_add(out, "all vCPUs, one after the other: ");
		add_share(out, &shares->list[0]);
		return;
	}
	list = hv_realloc_array(NULL, shares->nr, sizeof(*list));
	memcpy(list, shares->list, shares->nr * sizeof(*list));
	qsort(list, shares->nr, sizeof(*list), more_taken_first);
	for (unsigned i = 0; i < shares->nr; i++) {
		if (!list[i].window_ns || (shown >= LATENCY_VCPUS && !r->tells_all))
			continue;
		shown++;
		hv_text_printf(out, "vCPU %u: ", list[i].cpu);
		add_share(out, &list[i]);
	}
	if (shown < shares->nr)
		hv_text_printf(out, "%u more vCPU%s: --all\n", shares->nr - shown,
			       hv_plural(shares->nr - shown));
}

static void add_number(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

json_object *latency_json_shares(const struct latency_report *r)
{
	const struct hv_shares *shares = &r->latency->shares;
	json_object *list = json_object_new_array();

	for (unsigned cpu = 0; cpu < shares->nr; cpu++) {
		const struct hv_share *s = &shares->list[cpu];
		json_object *o = json_object_new_object();

		add_number(o, "cpu", cpu);
		add_number(o, "window_ns", s->window_ns);
		add_number(o, "ran_ns", s->ran_ns);
		add_number(o, "waited_ns", s->waited_ns);
		add_number(o, "limited_ns", s->limited_ns);
		add_number(o, "stopped_ns", s->stopped_ns);
		add_number(o, "halted_ns", hv_share_halted_ns(s));
		json_object_array_add(list, o);
	}
	return list;
}
