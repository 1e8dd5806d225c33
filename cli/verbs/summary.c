/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/session_stat.h"
#include "export/json_string.h"

#define VERSION 1

void summary_deinit(struct summary *s)
{
	free(s->refused);
	free(s->not_traced);
}

static struct hv_err *held_ns(struct client *c, uint64_t *ret)
{
	AUTO_SESSION_STAT json_object *o = NULL;
	struct hv_err *err = session_stat_get(c, &o);

	if (!err)
		*ret = session_stat_number(o, "holds.total_ns");
	return err;
}

struct hv_err *summary_begin(struct summary *s, struct client *c)
{
	return held_ns(c, &s->held_before_ns);
}

struct hv_err *summary_end(struct summary *s, struct client *c)
{
	uint64_t now_ns;
	struct hv_err *err = held_ns(c, &now_ns);

	if (!err)
		s->held_ns = now_ns - s->held_before_ns;
	return err;
}

/* Returns the number after "LABEL: " at the start of a line of TEXT, or 0. */
static uint64_t number_after(const char *text, const char *label)
{
	size_t len = strlen(label);
	uint64_t value;

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, label, len) == 0 && sscanf(line + len, ": %" SCNu64, &value) == 1)
			return value;
	}
	return 0;
}

static struct hv_err *count_cpu(struct summary *s, struct client *c, const char *path)
{
	HV_AUTO_TEXT struct hv_text stats = {0};
	struct hv_err *err = client_get(c, path, &stats);

	if (err)
		return client_error(path, err);
	hv_text_add(&stats, "");
	s->nr_events += number_after(stats.data, "entries");
	s->nr_events += number_after(stats.data, "read events");
	s->nr_lost += number_after(stats.data, "overrun");
	s->nr_lost += number_after(stats.data, "dropped events");
	return NULL;
}

/* NAMES are the names in the directory PER_CPU, one per line, each ending with '/'. */
static struct hv_err *count_cpus(struct summary *s, struct client *c, const char *per_cpu,
				 char *names)
{
	struct hv_err *err = NULL;

	for (char *name; !err && (name = strsep(&names, "\n"));) {
		HV_AUTO_FREE char *path = hv_format("%s/%sstats", per_cpu, name);

		if (*name)
			err = count_cpu(s, c, path);
	}
	return err;
}

struct hv_err *summary_count(struct summary *s, struct client *c, const char *dir)
{
	HV_AUTO_FREE char *per_cpu = hv_format("%s/per_cpu", dir);
	AUTO_SESSION_STAT json_object *o = NULL;
	HV_AUTO_TEXT struct hv_text refused = {0};
	HV_AUTO_FREE char *names = NULL;
	struct hv_err *err = session_stat_get(c, &o);

	if (err)
		return err;
	s->nr_patched = session_stat_number(o, "sites.patched");
	s->nr_refused = session_stat_number(o, "sites.refused");
	session_stat_refused(o, &refused);
	free(s->refused);
	s->refused = refused.len_bytes ? hv_text_take(&refused) : NULL;
	if (session_stat_member(o, "budget.not_traced") &&
	    *session_stat_string(o, "budget.not_traced") && !s->not_traced)
		s->not_traced = hv_strdup(session_stat_string(o, "budget.not_traced"));
	s->counted = 1;
	err = client_list(c, per_cpu, &names);
	return err ? err : count_cpus(s, c, per_cpu, names);
}

static void add_reason(const struct summary *s, const char *who, struct hv_text *out)
{
	if (s->nr_patched)
		hv_text_printf(out, ": none of the functions was called%s", who);
	else
		hv_text_add(out, ": no function was patched");
}

static void add_refused(const struct summary *s, struct hv_text *out)
{
	if (s->nr_refused)
		hv_text_printf(out, ", %" PRIu64 " function%s refused", s->nr_refused,
			       hv_plural(s->nr_refused));
	if (s->refused)
		hv_text_printf(out, ": %s", s->refused);
}

char *summary_line(const struct summary *s, const char *who)
{
	bool has_none = !s->nr_events && !s->nr_lost && !s->has_own && !s->has_section;
	HV_AUTO_TEXT struct hv_text line = {0};

	hv_text_printf(&line, "%" PRIu64 " event%s, %" PRIu64 " lost, held %.3f ms", s->nr_events,
		       hv_plural(s->nr_events), s->nr_lost, (double)s->held_ns / 1e6);
	if (s->has_section && s->longest_us)
		hv_text_printf(&line, ", the longest %s %" PRIu64 " us", s->longest, s->longest_us);
	else if (s->has_section)
		hv_text_printf(&line, ", no %s", s->longest);
	if (has_none)
		add_reason(s, who, &line);
	if (has_none || s->has_names)
		add_refused(s, &line);
	if (s->not_traced)
		hv_text_printf(&line, "; put back, to limit the overhead: %s", s->not_traced);
	return hv_text_take(&line);
}

static void add_text(struct hv_text *out, const char *key, const char *text)
{
	if (!text)
		return;
	hv_text_printf(out, ",\"%s\":", key);
	hv_json_add_string(out, text, strlen(text));
}

char *summary_json(const struct summary *s, const char *domain, const char *file,
		   const char *host_file)
{
	HV_AUTO_TEXT struct hv_text out = {0};

	hv_text_printf(&out,
		       "{\"version\":%d,\"events\":%" PRIu64 ",\"lost\":%" PRIu64
		       ",\"held_ns\":%" PRIu64 ",\"functions\":%" PRIu64 ",\"refused\":%" PRIu64,
		       VERSION, s->nr_events, s->nr_lost, s->held_ns, s->nr_patched, s->nr_refused);
	if (s->has_section)
		hv_text_printf(&out, ",\"longest_us\":%" PRIu64, s->longest_us);
	add_text(&out, "domain", domain);
	add_text(&out, "file", file);
	add_text(&out, "host_file", host_file);
	add_text(&out, "not_traced", s->not_traced);
	hv_text_add(&out, "}\n");
	return hv_text_take(&out);
}
