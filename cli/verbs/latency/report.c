/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/report.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/prefix.h"

/* -- the answer ------------------------------------------------------------------------------- */

/* The reason why the guest is slow, in one or two sentences, and how the host's scheduler treated
 * each vCPU. */

#define WAITING	    "waiting " /* prefix of some causes */
#define SHOWN_MAX   256	       /* bytes of a function's name, and of a path */
#define MOSTLY_MIN  4	       /* the answer names a function if it has at least so many samples */
#define PERCENT	    100
#define PPM_PERCENT 10000
#define HOG_PPM	    200000 /* of a CPU: programs that used less are not named */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? PERCENT * (double)part / (double)whole : 0;
}

/* Returns the function of the program that causes C, or NULL. */
static const struct latency_function *function_of_cause(const struct latency_report *r,
							const struct hv_cause *c)
{
	const struct latency_function *f =
		r->functions ? &r->functions[c - r->verdict->list] : NULL;

	return f && f->name ? f : NULL;
}

/* Adds the end of a text that is longer than SHOWN_MAX, because the file's name is at the end. */
static void add_path(struct hv_text *out, const char *path)
{
	size_t len = strlen(path);

	if (len > SHOWN_MAX)
		hv_text_add(out, "...");
	hv_text_add_guest(out, len <= SHOWN_MAX ? path : path + len - SHOWN_MAX, SHOWN_MAX);
}

static void add_named(struct hv_text *out, const struct latency_function *f)
{
	hv_text_add_guest(out, f->name, SHOWN_MAX);
	if (!f->file || strcmp(f->file, f->name) == 0)
		return;
	hv_text_add(out, " of ");
	add_path(out, f->file);
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

/* Adds the function in which the program was for most of the time. Few samples do not show that. */
static void add_mostly(struct hv_text *out, const struct latency_report *r,
		       const struct hv_cause *c)
{
	const struct latency_function *f = function_of_cause(r, c);

	if (!f || c->nr_crowd || f->nr < MOSTLY_MIN || 2 * f->nr <= f->nr_samples)
		return;
	hv_text_add(out, ", mostly in ");
	add_named(out, f);
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
	add_mostly(out, r, c);
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

/* Adds a line for each vCPU about its treatment by the host's scheduler, the worst first, up to a
 * limit. Adds nothing if it is unknown. */
static void latency_add_shares(struct hv_text *out, const struct latency_report *r)
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
		if (!list[i].window_ns || (shown >= LATENCY_VCPUS && !r->reports_all))
			continue;
		shown++;
		hv_text_printf(out, "vCPU %u: ", list[i].cpu);
		add_share(out, &list[i]);
	}
	if (shown < shares->nr)
		hv_text_printf(out, "%u more vCPU%s: --all\n", shares->nr - shown,
			       hv_plural(shares->nr - shown));
}

/* -- text ------------------------------------------------------------------------------------- */

#define VMM_PART 10 /* the VMM is mentioned if its part of a request is at least 1/VMM_PART */

static void add_callers(struct hv_text *out, const struct hv_stall *s)
{
	for (unsigned i = 0; i < HV_STALL_CALLERS && s->callers[i][0]; i++) {
		hv_text_add(out, " <- ");
		hv_text_add_guest(out, s->callers[i], sizeof(s->callers[i]));
	}
}

static void add_where(struct hv_text *out, const struct hv_stall *s)
{
	if (s->kind == HV_STALL_SECTION) {
		hv_text_add(out, "\n   from ");
		hv_text_add_guest(out, s->name, sizeof(s->name));
		hv_text_add(out, " to ");
		hv_text_add_guest(out, s->end, sizeof(s->end));
	}
	if (s->kind != HV_STALL_SECTION && s->end[0]) {
		hv_text_add(out, "\n   in ");
		hv_text_add_guest(out, s->end, sizeof(s->end));
	}
	add_callers(out, s);
}

/* Adds the function with the most samples, and its caller. For a system call, add_where() has added
 * the callers. */
static void add_samples(struct hv_text *out, const struct hv_stall *s)
{
	if (s->kind == HV_STALL_SYSCALL && !s->nr_samples && !s->end[0])
		hv_text_add(out, "\n   where is not known: no sample of the timer was taken");
	if (!s->nr_samples || !s->most_name[0])
		return;
	hv_text_printf(out, "\n   %u of %u samples in ", s->nr_most, s->nr_samples);
	hv_text_add_guest(out, s->most_name, sizeof(s->most_name));
	if (!s->most_caller_name[0] || s->kind == HV_STALL_SYSCALL)
		return;
	hv_text_add(out, " <- ");
	hv_text_add_guest(out, s->most_caller_name, sizeof(s->most_caller_name));
}

/* Adds the function of the program that causes C. */
static void add_program(struct hv_text *out, const struct latency_report *r,
			const struct hv_cause *c)
{
	const struct latency_function *f = function_of_cause(r, c);

	if (!f)
		return;
	hv_text_printf(out, "\n   %u of %u samples of ", f->nr, f->nr_samples);
	latency_add_task(out, hv_stall_program(&c->longest));
	hv_text_add(out, " in ");
	add_named(out, f);
}

/* Adds the delayed task, and where it was delayed. */
static void add_who(struct hv_text *out, const struct hv_stall *s)
{
	if (s->kind == HV_STALL_IO_DEVICE || s->kind == HV_STALL_IO_QUEUE) {
		hv_text_add(out, ", request by ");
		latency_add_task(out, &s->task);
		return;
	}
	hv_text_printf(out, ", vCPU %u", s->cpu);
	if (s->kind == HV_STALL_HOST)
		return;
	hv_text_add(out, ", ");
	latency_add_task(out, &s->task);
}

/* Omits short waits, which are common. */
static void add_vmm(struct hv_text *out, const struct hv_cause *c)
{
	if (VMM_PART * c->vmm_ns < c->longest.length_ns || !c->vmm_ns)
		return;
	hv_text_add(out, "; during this time, ");
	latency_add_task(out, &c->vmm);
	hv_text_add(out, " of the VMM waited for a CPU of the host for ");
	latency_add_time(out, c->vmm_ns);
}

static void add_counts(struct hv_text *out, const struct hv_cause *c)
{
	hv_text_add(out, "\n   ");
	if (c->nr == 1)
		hv_text_add(out, "once");
	else
		hv_text_printf(out, "%" PRIu64 " times, ", c->nr);
	if (c->nr > 1) {
		latency_add_time(out, c->total_ns);
		hv_text_add(out, " in all");
	}
	if (c->longest.kind == HV_STALL_EXITS) {
		hv_text_printf(out, "; %" PRIu64 " exits, the longest ", c->longest.nr);
		latency_add_time(out, c->longest.longest_ns);
	}
	if (c->longest.kind == HV_STALL_RECLAIM && c->longest.nr > 1) {
		hv_text_printf(out, "; %" PRIu64 " searches, the longest ", c->longest.nr);
		latency_add_time(out, c->longest.longest_ns);
	}
	if (c->longest.kind == HV_STALL_FAULTS && c->longest.nr > 1) {
		hv_text_printf(out, "; %" PRIu64 " faults, the longest ", c->longest.nr);
		latency_add_time(out, c->longest.longest_ns);
	}
	if (c->longest.kind == HV_STALL_HOST && c->longest.longest_ns &&
	    c->longest.longest_ns < c->longest.length_ns) {
		hv_text_add(out, "; in pieces of up to about ");
		latency_add_time(out, c->longest.longest_ns);
	}
	if (c->host_ns) {
		hv_text_add(out, "; besides, the host did not run the vCPU for ");
		latency_add_time(out, c->host_ns);
	}
	add_vmm(out, c);
	if (!c->nr_victims)
		return;
	hv_text_printf(out, "; %" PRIu64 " other stall%s followed from it, the longest ",
		       c->nr_victims, hv_plural(c->nr_victims));
	latency_add_time(out, c->victim.length_ns);
	if (c->victim.task.pid) {
		hv_text_add(out, " of ");
		latency_add_task(out, &c->victim.task);
	}
	hv_text_printf(out, " (%s)", latency_word_kind(&c->victim));
	if (!c->victim.end[0] || c->victim.kind == HV_STALL_SECTION)
		return;
	hv_text_add(out, "\n   it was in ");
	hv_text_add_guest(out, c->victim.end, sizeof(c->victim.end));
	add_callers(out, &c->victim);
}

static void add_more(struct hv_text *out, const struct latency_report *r, const struct hv_cause *c)
{
	size_t before;

	hv_text_add(out, "\n   more: ");
	before = out->len_bytes;
	latency_add_command(out, r, c);
	if (out->len_bytes == before)
		hv_text_printf(out, "threads of pid %" PRIu64 " on this host", r->vmm_pid);
}

static void add_before(struct hv_text *out, const struct hv_stall *s)
{
	hv_text_add(out, s->nr_before ? "\n   before, the last first:" : "");
	for (unsigned i = 0; i < s->nr_before; i++) {
		hv_text_add(out, i ? ", " : " ");
		latency_add_task(out, &s->before[i].task);
		hv_text_add(out, " ");
		latency_add_time(out, s->before[i].ns);
	}
}

static void add_one(struct hv_text *out, const struct latency_report *r, size_t i)
{
	const struct hv_cause *c = &r->verdict->list[i];

	hv_text_printf(out, "%zu. ", i + 1);
	latency_add_cause(out, r->latency, c);
	hv_text_add(out, ": ");
	latency_add_time(out, c->longest.length_ns);
	add_who(out, &c->longest);
	hv_text_printf(out, "\n   fault: %s", latency_phrase_fault(c->fault));
	if (c->is_doubtful)
		hv_text_add(out, ", since the host did not run the vCPU at about that time");
	add_where(out, &c->longest);
	add_samples(out, &c->longest);
	add_program(out, r, c);
	add_counts(out, c);
	if (r->reports_before && !i)
		add_before(out, &c->longest);
	add_more(out, r, c);
	hv_text_add(out, "\n");
}

static void add_function(struct hv_text *out, const struct latency_report *r, uint64_t function)
{
	const char *name = hv_calls_symbol(r->calls, function);

	if (name)
		hv_text_add_guest(out, name, HV_STALL_NAME_LEN);
	else
		hv_text_printf(out, "0x%" PRIx64, function);
}

static void add_calls(struct hv_text *out, const struct latency_report *r)
{
	const struct hv_calls *calls = hv_calls_of(r->calls);

	hv_text_printf(out, "%" PRIu64 " calls", calls->nr_seen);
	if (calls->nr_lost)
		hv_text_printf(out, ", %" PRIu64 " events lost", calls->nr_lost);
	hv_text_add(out, calls->nr ? "; the longest of each function:\n" : "\n");
	for (unsigned i = 0; i < calls->nr && i < LATENCY_CALLS; i++) {
		const struct hv_call *c = &calls->list[i];

		hv_text_add(out, "   ");
		add_function(out, r, c->function);
		hv_text_add(out, ": ");
		latency_add_time(out, c->to_ns - c->from_ns);
		if (c->host_ns) {
			hv_text_add(out, " (host ");
			latency_add_time(out, c->host_ns);
			hv_text_add(out, ")");
		}
		hv_text_add(out, ", ");
		latency_add_task(out, &c->task);
		hv_text_printf(out, ", vCPU %u, of %" PRIu64 " call%s", c->cpu, c->nr,
			       hv_plural(c->nr));
		for (unsigned by = 0; by < c->nr_callers; by++) {
			hv_text_add(out, by ? " <- " : ", in ");
			add_function(out, r, c->callers[by]);
		}
		hv_text_add(out, "\n");
	}
}

void latency_text(struct hv_text *out, const struct latency_report *r)
{
	size_t shown =
		r->reports_all || r->verdict->nr < LATENCY_CAUSES ? r->verdict->nr : LATENCY_CAUSES;

	latency_add_answer(out, r);
	for (size_t i = 0; i < shown; i++)
		add_one(out, r, i);
	if (shown < r->verdict->nr)
		hv_text_printf(out, "%zu more cause%s: --all\n", r->verdict->nr - shown,
			       hv_plural(r->verdict->nr - shown));
	if (r->verdict->nr_skipped)
		hv_text_printf(out, "%" PRIu64 " more stalls are not shown\n",
			       r->verdict->nr_skipped);
	latency_add_shares(out, r);
	hv_text_printf(out, "measured %.1f s on %u vCPU%s: %" PRIu64 " events",
		       (double)r->measured_ns / HV_NS_PER_S, r->nr_cpus, hv_plural(r->nr_cpus),
		       r->latency->nr_events);
	if (r->latency->nr_lost)
		hv_text_printf(out, ", %" PRIu64 " lost", r->latency->nr_lost);
	hv_text_add(out, "\n");
	latency_add_exits(out, r->latency);
	if (r->calls)
		add_calls(out, r);
	if (r->gaps->len_bytes)
		hv_text_add(out, r->gaps->data);
}

/* -- JSON ------------------------------------------------------------------------------------- */

#define VERSION 1

static void put_number(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

/* NULL: unknown. */
static json_object *latency_json_shares(const struct latency_report *r)
{
	const struct hv_shares *shares = &r->latency->shares;
	json_object *list = json_object_new_array();

	for (unsigned cpu = 0; cpu < shares->nr; cpu++) {
		const struct hv_share *s = &shares->list[cpu];
		json_object *o = json_object_new_object();

		put_number(o, "cpu", cpu);
		put_number(o, "window_ns", s->window_ns);
		put_number(o, "ran_ns", s->ran_ns);
		put_number(o, "waited_ns", s->waited_ns);
		put_number(o, "limited_ns", s->limited_ns);
		put_number(o, "stopped_ns", s->stopped_ns);
		put_number(o, "halted_ns", hv_share_halted_ns(s));
		json_object_array_add(list, o);
	}
	return list;
}

/* All texts may contain names of the guest. */
static json_object *string(const char *text, size_t size)
{
	HV_AUTO_TEXT struct hv_text shown = {0};

	hv_text_add_utf8(&shown, text, size);
	hv_text_add(&shown, "");
	return json_object_new_string(shown.data);
}

static void put_string(json_object *o, const char *key, const char *value)
{
	json_object_object_add(o, key, string(value, strlen(value)));
}

static void put_task(json_object *o, const char *key, const struct hv_stall_task *task)
{
	json_object *t = json_object_new_object();

	put_number(t, "pid", task->pid);
	json_object_object_add(t, "comm", string(task->comm, sizeof(task->comm)));
	json_object_object_add(o, key, t);
}

static void put_stack(json_object *o, const struct hv_stall *s)
{
	json_object *list;

	if (s->kind != HV_STALL_SECTION && !s->end[0])
		return;
	if (s->kind == HV_STALL_SECTION)
		json_object_object_add(o, "from", string(s->name, sizeof(s->name)));
	json_object_object_add(o, "function", string(s->end, sizeof(s->end)));
	list = json_object_new_array();
	for (unsigned i = 0; i < HV_STALL_CALLERS && s->callers[i][0]; i++)
		json_object_array_add(list, string(s->callers[i], sizeof(s->callers[i])));
	json_object_object_add(o, "callers", list);
}

static void put_samples(json_object *o, const struct hv_stall *s)
{
	json_object *samples = json_object_new_object();

	put_number(samples, "taken", s->nr_samples);
	put_number(samples, "in_function", s->nr_most);
	json_object_object_add(samples, "function", string(s->most_name, sizeof(s->most_name)));
	json_object_object_add(samples, "caller",
			       string(s->most_caller_name, sizeof(s->most_caller_name)));
	json_object_object_add(o, "samples", samples);
}

static void put_text(json_object *o, const char *key, struct hv_text *text)
{
	hv_text_add(text, "");
	put_string(o, key, text->data);
}

static void put_before(json_object *o, const struct hv_stall *s)
{
	json_object *list = json_object_new_array();

	for (unsigned i = 0; i < s->nr_before; i++) {
		json_object *slice = json_object_new_object();

		put_task(slice, "task", &s->before[i].task);
		put_number(slice, "ns", s->before[i].ns);
		json_object_array_add(list, slice);
	}
	json_object_object_add(o, "before", list);
}

static void put_storm(json_object *o, const struct hv_stall *s)
{
	json_object_object_add(o, "reason", string(s->name, sizeof(s->name)));
	put_number(o, "exits", s->nr);
	put_number(o, "longest_exit_ns", s->longest_ns);
	put_number(o, "passed_ns", s->to_ns - s->from_ns);
}

static void put_searches(json_object *o, const struct hv_stall *s)
{
	put_number(o, "searches", s->nr);
	put_number(o, "longest_search_ns", s->longest_ns);
	put_number(o, "passed_ns", s->to_ns - s->from_ns);
}

static void put_faults(json_object *o, const struct hv_stall *s)
{
	put_number(o, "faults", s->nr);
	put_number(o, "longest_fault_ns", s->longest_ns);
	put_number(o, "passed_ns", s->to_ns - s->from_ns);
}

static void put_syscall(json_object *o, const struct hv_stall *s)
{
	HV_AUTO_TEXT struct hv_text name = {0};

	latency_add_syscall(&name, s);
	put_number(o, "number", s->number);
	put_text(o, "system_call", &name);
}

static void put_victim(json_object *o, const struct hv_stall *s)
{
	json_object *victim;

	put_task(o, "victim", &s->task);
	victim = json_object_object_get(o, "victim");
	put_string(victim, "cause", latency_word_kind(s));
	put_stack(victim, s);
}

static void put_limit(json_object *o, const struct latency_report *r, const struct hv_stall *s)
{
	const struct hv_limit_group *g = hv_limits_group(r->latency->finders.limits, s->number);
	json_object *limit = json_object_new_object();

	if (s->flags)
		put_string(limit, "class", s->flags & HV_LIMIT_REALTIME ? "realtime" : "deadline");
	else if (g)
		json_object_object_add(limit, "cgroup", string(g->path, sizeof(g->path)));
	if (!s->flags && g) {
		put_number(limit, "quota_ns", g->quota_ns);
		put_number(limit, "period_ns", g->period_ns);
	}
	json_object_object_add(o, "limit", limit);
}

static void put_program(json_object *o, const struct latency_function *f)
{
	json_object *program = json_object_new_object();

	put_number(program, "samples", f->nr_samples);
	put_number(program, "in_function", f->nr);
	json_object_object_add(program, "function", string(f->name, strlen(f->name)));
	if (f->file)
		json_object_object_add(program, "file", string(f->file, strlen(f->file)));
	json_object_object_add(o, "program", program);
}

static json_object *answer_of(const struct latency_report *r)
{
	HV_AUTO_TEXT struct hv_text words = {0};

	latency_add_answer(&words, r);
	words.data[words.len_bytes - 1] = '\0'; /* removes the newline */
	return string(words.data, words.len_bytes - 1);
}

static json_object *cause_of(const struct latency_report *r, const struct hv_cause *c)
{
	HV_AUTO_TEXT struct hv_text words = {0}, command = {0};
	json_object *o = json_object_new_object();
	const struct hv_stall *s = &c->longest;

	put_string(o, "cause", latency_word_kind(s));
	put_string(o, "fault", latency_word_fault(c->fault));
	latency_add_cause(&words, r->latency, c);
	put_text(o, "text", &words);
	put_number(o, "longest_ns", s->length_ns);
	put_number(o, "total_ns", c->total_ns);
	put_number(o, "times", c->nr);
	put_number(o, "at_ns", s->from_ns);
	put_number(o, "cpu", s->cpu);
	put_number(o, "not_run_ns", c->host_ns);
	if (s->kind != HV_STALL_HOST)
		put_task(o, "task", &s->task);
	if (s->kind == HV_STALL_RUNQUEUE && s->by.pid)
		put_task(o, "by", &s->by);
	if (s->kind == HV_STALL_HOST && s->by.comm[0])
		json_object_object_add(o, "by", latency_json_taker(r->latency, s));
	if (s->kind == HV_STALL_EXITS)
		put_storm(o, s);
	if (s->kind == HV_STALL_RECLAIM)
		put_searches(o, s);
	if (s->kind == HV_STALL_FAULTS)
		put_faults(o, s);
	if (s->kind == HV_STALL_SYSCALL)
		put_syscall(o, s);
	if (s->kind == HV_STALL_LIMIT)
		put_limit(o, r, s);
	if (c->nr_crowd)
		put_number(o, "crowd", c->nr_crowd);
	if (s->kind == HV_STALL_IO_DEVICE)
		put_number(o, "vmm_waited_ns", c->vmm_ns);
	if (c->vmm_ns)
		put_task(o, "vmm", &c->vmm);
	put_stack(o, s);
	if (s->nr_samples)
		put_samples(o, s);
	if (function_of_cause(r, c))
		put_program(o, function_of_cause(r, c));
	put_number(o, "victims", c->nr_victims);
	if (c->victim.task.pid)
		put_victim(o, &c->victim);
	if (r->reports_before)
		put_before(o, s);
	latency_add_command(&command, r, c);
	if (command.len_bytes)
		put_text(o, "command", &command);
	return o;
}

static json_object *gaps_of(const struct hv_text *gaps)
{
	json_object *list = json_object_new_array();
	HV_AUTO_FREE char *copy = hv_strdup(gaps->len_bytes ? gaps->data : "");
	char *rest = copy;

	for (char *line; (line = strsep(&rest, "\n"));)
		if (*line)
			json_object_array_add(list, string(line, strlen(line)));
	return list;
}

static json_object *function_of(const struct latency_report *r, uint64_t function)
{
	HV_AUTO_FREE char *number = hv_format("0x%llx", (unsigned long long)function);
	const char *name = hv_calls_symbol(r->calls, function);

	return name ? string(name, strlen(name)) : json_object_new_string(number);
}

static json_object *call_of(const struct latency_report *r, const struct hv_call *c)
{
	json_object *o = json_object_new_object(), *callers = json_object_new_array();

	json_object_object_add(o, "function", function_of(r, c->function));
	put_number(o, "longest_ns", c->to_ns - c->from_ns);
	if (hv_calls_have_host(r->calls))
		put_number(o, "host_ns", c->host_ns);
	put_number(o, "at_ns", c->from_ns);
	put_number(o, "calls", c->nr);
	put_number(o, "cpu", c->cpu);
	put_task(o, "task", &c->task);
	for (unsigned i = 0; i < c->nr_callers; i++)
		json_object_array_add(callers, function_of(r, c->callers[i]));
	json_object_object_add(o, "callers", callers);
	return o;
}

static json_object *calls_of(const struct latency_report *r)
{
	const struct hv_calls *calls = hv_calls_of(r->calls);
	json_object *o = json_object_new_object(), *list = json_object_new_array();

	put_number(o, "seen", calls->nr_seen);
	put_number(o, "lost", calls->nr_lost);
	for (unsigned i = 0; i < calls->nr && i < LATENCY_CALLS; i++)
		json_object_array_add(list, call_of(r, &calls->list[i]));
	json_object_object_add(o, "longest", list);
	return o;
}

void latency_json(struct hv_text *out, const struct latency_report *r)
{
	json_object *o = json_object_new_object(), *list = json_object_new_array();

	put_number(o, "version", VERSION);
	put_string(o, "domain", r->domain);
	put_number(o, "measured_ns", r->measured_ns);
	put_number(o, "threshold_ns", r->threshold_ns);
	put_number(o, "cpus", r->nr_cpus);
	put_number(o, "events", r->latency->nr_events);
	put_number(o, "lost", r->latency->nr_lost);
	put_number(o, "load_ppm", r->load_ppm);
	json_object_object_add(o, "answer", answer_of(r));
	for (size_t i = 0; i < r->verdict->nr; i++)
		json_object_array_add(list, cause_of(r, &r->verdict->list[i]));
	json_object_object_add(o, "verdict", list);
	if (r->latency->shares.nr)
		json_object_object_add(o, "vcpus", latency_json_shares(r));
	if (r->latency->has_host_events)
		json_object_object_add(o, "host", latency_json_host(r->latency));
	if (r->calls)
		json_object_object_add(o, "calls", calls_of(r));
	json_object_object_add(o, "gaps", gaps_of(r->gaps));
	hv_text_add(out, json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN));
	hv_text_add(out, "\n");
	json_object_put(o);
}
