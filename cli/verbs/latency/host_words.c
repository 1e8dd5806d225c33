/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host's events say of the vCPUs' threads, in words and as JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/verbs/latency/report.h"

#define REASONS_SHOWN 4

/* -- who had a CPU ----------------------------------------------------------------------------- */

static const char *word_taker(enum hv_taker_kind kind)
{
	static const char *const words[HV_NR_TAKERS] = {
		[HV_TAKER_UNKNOWN] = "unknown", [HV_TAKER_HOST] = "host",
		[HV_TAKER_VM] = "guest",	[HV_TAKER_OWN] = "own-vmm",
		[HV_TAKER_NOBODY] = "nobody",
	};

	return words[kind];
}

void latency_add_taker(struct hv_text *out, const struct hv_latency *l, const struct hv_stall *s)
{
	const struct hv_taker *t = hv_takers_find(&l->threads.takers, &s->by);

	if (!s->by.comm[0])
		return;
	if (!s->by.pid) {
		hv_text_add(out,
			    ", though its CPU was idle: a limit of its cgroup (cpu.max) does so");
		return;
	}
	hv_text_add(out, ": ");
	latency_add_task(out, &s->by);
	if (t && t->kind == HV_TAKER_VM && t->domain[0]) {
		hv_text_add(out, " of domain '");
		hv_text_add_guest(out, t->domain, sizeof(t->domain));
		hv_text_add(out, "'");
	} else if (t && t->kind == HV_TAKER_VM) {
		hv_text_add(out, " of another VMM");
	} else if (t && t->kind == HV_TAKER_OWN) {
		hv_text_add(out, " of its own VMM");
	}
	hv_text_add(out, " had the CPU");
}

/* -- exits ------------------------------------------------------------------------------------- */

static int more_time_first(const void *a, const void *b)
{
	const struct hv_exit_reason *const *x = a, *const *y = b;

	if ((*x)->total_ns != (*y)->total_ns)
		return (*x)->total_ns > (*y)->total_ns ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static unsigned exit_reasons(const struct hv_latency *l, const struct hv_exit_reason **ret)
{
	const struct hv_exits *x = &l->threads.exits;
	unsigned nr = 0;

	for (unsigned i = 0; i < x->nr_reasons; i++)
		if (x->reasons[i].nr)
			ret[nr++] = &x->reasons[i];
	qsort(ret, nr, sizeof(*ret), more_time_first);
	return nr;
}

void latency_add_exits(struct hv_text *out, const struct hv_latency *l)
{
	const struct hv_exit_reason *list[HV_EXIT_REASONS_MAX];
	const struct hv_wakeups *w = &l->threads.wakeups;
	unsigned nr = exit_reasons(l, list), shown = 0;

	if (!l->has_host_events)
		return;
	hv_text_add(out, "exits:");
	for (unsigned i = 0; i < nr && shown < REASONS_SHOWN; i++) {
		if (list[i]->sort == HV_EXIT_HALT)
			continue;
		hv_text_add(out, shown++ ? ", " : " ");
		hv_text_add_guest(out, list[i]->name, sizeof(list[i]->name));
		hv_text_printf(out, " %" PRIu64 " in ", list[i]->nr);
		latency_add_time(out, list[i]->total_ns);
		hv_text_add(out, " (longest ");
		latency_add_time(out, list[i]->longest_ns);
		hv_text_add(out, ")");
	}
	hv_text_printf(out, "%s; vCPUs woken %" PRIu64 " time%s", shown ? "" : " none", w->nr,
		       hv_plural(w->nr));
	if (w->nr) {
		hv_text_add(out, ", then ran after ");
		latency_add_time(out, w->total_ns / w->nr);
		hv_text_add(out, " (longest ");
		latency_add_time(out, w->longest_ns);
		hv_text_add(out, ")");
	}
	hv_text_add(out, "\n");
}

/* -- JSON -------------------------------------------------------------------------------------- */

static void add_number(json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

static json_object *string(const char *text, size_t size)
{
	HV_AUTO_TEXT struct hv_text shown = {0};

	hv_text_add_utf8(&shown, text, size);
	hv_text_add(&shown, "");
	return json_object_new_string(shown.data);
}

static json_object *taker_object(const struct hv_taker *t)
{
	json_object *o = json_object_new_object();

	add_number(o, "pid", t->task.pid);
	json_object_object_add(o, "comm", string(t->task.comm, sizeof(t->task.comm)));
	json_object_object_add(o, "of", json_object_new_string(word_taker(t->kind)));
	if (t->domain[0])
		json_object_object_add(o, "domain", string(t->domain, sizeof(t->domain)));
	return o;
}

json_object *latency_json_taker(const struct hv_latency *l, const struct hv_stall *s)
{
	const struct hv_taker *found = hv_takers_find(&l->threads.takers, &s->by);
	struct hv_taker t = {.task = s->by};

	if (!s->by.comm[0])
		return NULL;
	return taker_object(found ? found : &t);
}

static json_object *exits_array(const struct hv_latency *l)
{
	const struct hv_exit_reason *list[HV_EXIT_REASONS_MAX];
	unsigned nr = exit_reasons(l, list);
	json_object *exits = json_object_new_array();

	for (unsigned i = 0; i < nr; i++) {
		json_object *o = json_object_new_object();

		json_object_object_add(o, "reason", string(list[i]->name, sizeof(list[i]->name)));
		add_number(o, "times", list[i]->nr);
		add_number(o, "total_ns", list[i]->total_ns);
		add_number(o, "longest_ns", list[i]->longest_ns);
		json_object_array_add(exits, o);
	}
	return exits;
}

json_object *latency_json_host(const struct hv_latency *l)
{
	const struct hv_wakeups *w = &l->threads.wakeups;
	json_object *o = json_object_new_object(), *wakeups = json_object_new_object();
	json_object *takers = json_object_new_array();

	add_number(wakeups, "times", w->nr);
	add_number(wakeups, "total_ns", w->total_ns);
	add_number(wakeups, "longest_ns", w->longest_ns);
	for (size_t i = 0; i < l->threads.takers.nr; i++) {
		const struct hv_taker *t = &l->threads.takers.list[i];
		json_object *taker = taker_object(t);

		add_number(taker, "taken_ns", t->taken_ns);
		json_object_array_add(takers, taker);
	}
	json_object_object_add(o, "exits", exits_array(l));
	json_object_object_add(o, "wakeups", wakeups);
	json_object_object_add(o, "takers", takers);
	return o;
}
