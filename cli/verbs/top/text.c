/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/text.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define DOMAIN_WIDTH  16
#define NUMBER_WIDTH  8
#define EXITS_WIDTH   7
#define WHY_MAX_BYTES 256
#define COMM_WIDTH    16
#define NAME_MAX_LEN  40 /* bytes of a function's name */

/* Adds a percentage, or "-" if it is unknown. */
static void add_percent(struct hv_text *t, double value)
{
	if (value < 0)
		hv_text_printf(t, " %*s", NUMBER_WIDTH, "-");
	else
		hv_text_printf(t, " %*.2f", NUMBER_WIDTH, value);
}

/* Adds a number, or "-" if it is unknown. Infinity is a wait beyond the last bound of
 * hv_wait_times. */
static void add_count(struct hv_text *t, double value, int width)
{
	if (value < 0)
		hv_text_printf(t, " %*s", width, "-");
	else if (isinf(value))
		hv_text_printf(t, " %*s", width, ">5 s");
	else
		hv_text_printf(t, " %*.0f", width, value);
}

static void add_missing(struct hv_text *t, const char *what, const char *why)
{
	hv_text_printf(t, "%-*s no %s: ", DOMAIN_WIDTH, "", what);
	hv_text_add_guest(t, why, WHY_MAX_BYTES);
	hv_text_add(t, "\n");
}

static void add_domain(struct hv_text *t, const struct top_domain *d, unsigned has_waits)
{
	struct top_rates r;

	hv_text_printf(t, "%-*.*s", DOMAIN_WIDTH, DOMAIN_WIDTH, d->name);
	if (d->ended) {
		hv_text_printf(t, " ended: %s\n", d->ended);
		return;
	}
	top_look_rates(&d->before, &d->now, &r);
	hv_text_printf(t, " %*.1f %*" PRIu64, NUMBER_WIDTH + 2, r.events_per_s, NUMBER_WIDTH,
		       r.nr_lost);
	add_percent(t, r.cost);
	add_percent(t, r.run);
	add_percent(t, r.steal);
	hv_text_printf(t, " %*.3f", NUMBER_WIDTH, r.held_ms);
	add_count(t, r.exits_per_s, EXITS_WIDTH);
	if (has_waits) {
		add_count(t, r.wait_us, NUMBER_WIDTH);
		add_count(t, r.wait_99_us, NUMBER_WIDTH);
	}
	hv_text_add(t, "\n");
	if (r.nr_not_counted)
		hv_text_printf(t, "%-*s not counted: %" PRIu64 " call%s\n", DOMAIN_WIDTH, "",
			       r.nr_not_counted, hv_plural(r.nr_not_counted));
	if (d->no_functions)
		hv_text_printf(t, "%-*s no functions: %s\n", DOMAIN_WIDTH, "", d->no_functions);
	if (d->waits.why)
		add_missing(t, "run queue", d->waits.why);
	if (d->programs.why)
		add_missing(t, "programs", d->programs.why);
}

static void add_row(struct hv_text *t, const struct top_view *v, const struct top_row *row)
{
	const char *domain = v->domains[row->domain].name;

	hv_text_printf(t, "%-*.*s %-*s %10" PRIu64 " %13.3f %13.3f\n", DOMAIN_WIDTH, DOMAIN_WIDTH,
		       domain, PROFILE_NAME_MAX, row->name, row->hits, row->time_us / 1e3,
		       top_row_average_us(row));
}

/* -- programs ----------------------------------------------------------------------------------- */

/* Adds a name of the guest, padded to WIDTH. */
static void add_padded(struct hv_text *t, const char *name, int width)
{
	HV_AUTO_TEXT struct hv_text shown = {0};

	hv_text_add_guest(&shown, name, (size_t)width);
	hv_text_add(&shown, "");
	hv_text_printf(t, "%-*s", width, shown.data);
}

static double percent_of(const struct top_programs *p, const struct top_program *row)
{
	return p->nr_samples ? 100 * (double)row->nr / (double)p->nr_samples : 0;
}

static void add_program(struct hv_text *t, const struct top_domain *d,
			const struct top_program *row)
{
	hv_text_printf(t, "%-*.*s ", DOMAIN_WIDTH, DOMAIN_WIDTH, d->name);
	add_padded(t, row->program, COMM_WIDTH);
	hv_text_add(t, " ");
	add_padded(t, row->function, NAME_MAX_LEN);
	hv_text_printf(t, " %*" PRIu64 " %*.1f\n", NUMBER_WIDTH, row->nr, NUMBER_WIDTH,
		       percent_of(&d->programs, row));
}

static void add_programs(struct hv_text *t, const struct top_view *v)
{
	bool has_head = false;

	for (size_t i = 0; i < v->nr_domains; i++) {
		const struct top_domain *d = &v->domains[i];

		if (d->ended || !d->programs.nr)
			continue;
		if (!has_head)
			hv_text_printf(t, "%-*s %-*s %-*s %*s %*s\n", DOMAIN_WIDTH, "DOMAIN",
				       COMM_WIDTH, "PROGRAM", NAME_MAX_LEN, "FUNCTION",
				       NUMBER_WIDTH, "SAMPLES", NUMBER_WIDTH, "%");
		has_head = true;
		for (size_t row = 0; row < d->programs.nr && row < v->programs_max; row++)
			add_program(t, d, &d->programs.list[row]);
	}
}

/* -- tables ------------------------------------------------------------------------------------- */

void top_text_lines(const struct top_view *v, struct hv_text *ret)
{
	hv_text_printf(ret, "%-*s %*s %*s %*s %*s %*s %*s %*s", DOMAIN_WIDTH, "DOMAIN",
		       NUMBER_WIDTH + 2, "EVENTS/s", NUMBER_WIDTH, "LOST", NUMBER_WIDTH, "COST %",
		       NUMBER_WIDTH, "vCPU %", NUMBER_WIDTH, "STEAL %", NUMBER_WIDTH, "HELD ms",
		       EXITS_WIDTH, "EXITS/s");
	if (v->has_waits)
		hv_text_printf(ret, " %*s %*s", NUMBER_WIDTH, "RUNQ us", NUMBER_WIDTH, "99 % us");
	hv_text_add(ret, "\n");
	for (size_t i = 0; i < v->nr_domains; i++)
		add_domain(ret, &v->domains[i], v->has_waits);
	add_programs(ret, v);
	if (!v->table.nr)
		return;
	hv_text_printf(ret, "%-*s %-*s %10s %13s %13s\n", DOMAIN_WIDTH, "DOMAIN", PROFILE_NAME_MAX,
		       "FUNCTION", "HITS", "TIME ms", "AVERAGE us");
	for (size_t i = 0; i < v->table.nr && i < v->rows_max; i++)
		add_row(ret, v, &v->table.rows[i]);
}

/* JSON. */

static void put(json_object *o, const char *key, json_object *value)
{
	json_object_object_add(o, key, value);
}

/* Rounds to three decimals. Returns NULL if it is unknown. */
static json_object *number(double value)
{
	char text[64];

	if (value < 0 || !isfinite(value))
		return NULL;
	snprintf(text, sizeof(text), "%.3f", value);
	return json_object_new_double_s(value, text);
}

static json_object *string(const char *text)
{
	HV_AUTO_TEXT struct hv_text shown = {0};

	hv_text_add_utf8(&shown, text, strlen(text));
	hv_text_add(&shown, "");
	return json_object_new_string(shown.data);
}

static json_object *functions_of(const struct top_view *v, size_t domain)
{
	json_object *list = json_object_new_array();

	for (size_t i = 0; i < v->table.nr && i < v->rows_max; i++) {
		const struct top_row *row = &v->table.rows[i];
		json_object *o;

		if (row->domain != domain)
			continue;
		o = json_object_new_object();
		put(o, "name", string(row->name));
		put(o, "hits", json_object_new_uint64(row->hits));
		put(o, "time_us", number(row->time_us));
		put(o, "average_us", number(top_row_average_us(row)));
		json_object_array_add(list, o);
	}
	return list;
}

static json_object *programs_of(const struct top_view *v, const struct top_programs *p)
{
	json_object *o = json_object_new_object(), *list = json_object_new_array();

	for (size_t i = 0; i < p->nr && i < v->rows_max; i++) {
		const struct top_program *row = &p->list[i];
		json_object *f = json_object_new_object();

		put(f, "program", string(row->program));
		put(f, "function", string(row->function));
		put(f, "file", row->file ? string(row->file) : NULL);
		put(f, "samples", json_object_new_uint64(row->nr));
		put(f, "percent", number(percent_of(p, row)));
		json_object_array_add(list, f);
	}
	put(o, "samples", json_object_new_uint64(p->nr_samples));
	put(o, "functions", list);
	return o;
}

static json_object *domain_object(const struct top_view *v, size_t index)
{
	const struct top_domain *d = &v->domains[index];
	json_object *o = json_object_new_object();
	struct top_rates r;

	put(o, "domain", string(d->name));
	put(o, "ended", d->ended ? string(d->ended) : NULL);
	if (d->ended)
		return o;
	top_look_rates(&d->before, &d->now, &r);
	put(o, "interval_s", number(r.seconds));
	put(o, "events_per_s", number(r.events_per_s));
	put(o, "lost", json_object_new_uint64(r.nr_lost));
	put(o, "cost_percent", number(r.cost));
	put(o, "vcpu_percent", number(r.run));
	put(o, "steal_percent", number(r.steal));
	put(o, "held_ms", number(r.held_ms));
	put(o, "exits_per_s", number(r.exits_per_s));
	if (v->has_waits) {
		put(o, "runqueue_us", number(r.wait_us));
		put(o, "runqueue_99_us", number(r.wait_99_us));
		put(o, "no_runqueue", d->waits.why ? string(d->waits.why) : NULL);
	}
	if (v->has_programs) {
		put(o, "programs", programs_of(v, &d->programs));
		put(o, "no_programs", d->programs.why ? string(d->programs.why) : NULL);
	}
	put(o, "not_counted", json_object_new_uint64(r.nr_not_counted));
	put(o, "no_functions", d->no_functions ? string(d->no_functions) : NULL);
	put(o, "functions", functions_of(v, index));
	return o;
}

void top_text_json(const struct top_view *v, uint64_t at_ms, struct hv_text *ret)
{
	json_object *o = json_object_new_object(), *domains = json_object_new_array();

	put(o, "at_ms", json_object_new_uint64(at_ms));
	for (size_t i = 0; i < v->nr_domains; i++)
		json_object_array_add(domains, domain_object(v, i));
	put(o, "domains", domains);
	hv_text_printf(ret, "%s\n",
		       json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
								 JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}
