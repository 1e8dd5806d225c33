/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/settings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/guard.h"
#include "cli/client.h"
#include "cli/verbs/record/probes.h"
#include "cli/verbs/record/section.h"

void record_settings_deinit(struct record_settings *s)
{
	hv_text_deinit(&s->filter);
	hv_text_deinit(&s->notrace);
	hv_text_deinit(&s->graph);
	hv_text_deinit(&s->events);
	hv_text_deinit(&s->probes);
	hv_text_deinit(&s->probed);
	record_filters_deinit(&s->event_filters);
	hv_text_deinit(&s->pids);
	free(s->dir);
}

bool record_settings_add_pid(struct record_settings *s, const char *text)
{
	char *end;
	unsigned long pid = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || pid > INT32_MAX)
		return false;
	hv_text_printf(&s->pids, "%s%lu", s->pids.len_bytes ? " " : "", pid);
	return true;
}

void record_settings_add_glob(struct hv_text *globs, const char *glob)
{
	hv_text_printf(globs, "%s%s", globs->len_bytes ? " " : "", glob);
}

void record_settings_add_event(struct record_settings *s, const char *event)
{
	record_settings_add_glob(&s->events, event);
	s->event = event;
}

void record_settings_add_probe(struct record_settings *s, const char *line)
{
	hv_text_printf(&s->probes, "%s%s", s->probes.len_bytes ? "\n" : "", line);
}

struct hv_err *record_settings_set(const struct record_settings *s, struct client *c,
				   const char *file, const char *text)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s", s->dir, file);

	return client_echo(c, path, text);
}

/* The first line of FILE of the top. */
static struct hv_err *get_line(struct client *c, const char *file, char **ret)
{
	HV_AUTO_TEXT struct hv_text text = {0};
	struct hv_err *err = client_get(c, file, &text);

	if (err)
		return err;
	hv_text_add(&text, "");
	text.data[strcspn(text.data, "\n")] = '\0';
	*ret = hv_text_take(&text);
	return NULL;
}

/* Gives the buffer the size of the top's, unless the host has no memory for that, and chooses the
 * top's clock, which is shown in brackets. */
static void follow_top(const struct record_settings *s, struct client *c)
{
	HV_AUTO_FREE char *size = NULL, *clocks = NULL;

	hv_err_free(get_line(c, "buffer_size_kb", &size));
	if (size)
		hv_err_free(record_settings_set(s, c, "buffer_size_kb", size));
	hv_err_free(get_line(c, "trace_clock", &clocks));
	if (clocks && strchr(clocks, '[') && strchr(clocks, ']')) {
		*strchr(clocks, ']') = '\0';
		hv_err_free(record_settings_set(s, c, "trace_clock", strchr(clocks, '[') + 1));
	}
}

/* Without any pair, whatever else is to be recorded is. */
static struct hv_err *put_pairs(struct record_settings *s, struct client *c,
				struct hv_text *ret_notes)
{
	HV_AUTO_ERR struct hv_err *none = NULL;
	struct hv_err *err = record_pairs_switch_on(c, s->dir, s->pairs, &none, ret_notes);
	bool has_more = s->tracer || s->events.len_bytes || s->probes.len_bytes;

	return err || has_more ? err : hv_take(none);
}

static struct hv_err *put_events(struct record_settings *s, struct client *c,
				 struct hv_text *ret_notes)
{
	HV_AUTO_TEXT struct hv_text words = {0}, found = {0};
	struct hv_err *err = NULL;

	if (!record_settings_have_events(s))
		return NULL;
	if (s->probes.len_bytes)
		err = record_probes_define(c, s->probes.data, &s->probed);
	if (!err && s->events.len_bytes)
		err = record_events_find(c, s->events.data, &words, &found);
	if (!err && s->probed.len_bytes)
		hv_text_printf(&words, "%s%s", words.len_bytes ? " " : "", s->probed.data);
	if (!err)
		err = record_filters_put(&s->event_filters, c, s->dir, ret_notes);
	if (!err)
		err = record_settings_set(s, c, "set_event_pid", s->pids.data);
	if (!err)
		err = record_settings_set(s, c, "set_event", words.data);
	if (!err)
		hv_err_free(record_events_refused(c, s->dir, ret_notes));
	if (!err && found.len_bytes)
		err = record_events_switch_on(c, s->dir, found.data, ret_notes);
	if (!err && s->pairs)
		err = put_pairs(s, c, ret_notes);
	return err;
}

struct hv_err *record_settings_put(struct record_settings *s, struct client *c,
				   struct hv_text *ret_notes)
{
	HV_AUTO_TEXT struct hv_text dir = {0};
	struct hv_err *err;

	hv_text_printf(&dir, "instances/record-%d", (int)getpid());
	err = client_mkdir(c, dir.data, CLIENT_DIR_OURS);
	if (err)
		return err;
	s->dir = hv_text_take(&dir);
	err = record_settings_set(s, c, "tracing_on", "0");
	if (!err)
		follow_top(s, c);
	if (!err)
		err = record_settings_set(s, c, "set_ftrace_filter", s->filter.data);
	if (!err)
		err = record_settings_set(s, c, "set_ftrace_notrace", s->notrace.data);
	if (!err)
		err = record_settings_set(s, c, "set_graph_function", s->graph.data);
	if (!err)
		err = record_settings_set(s, c, "set_ftrace_pid", s->pids.data);
	if (!err && record_section_has(s->tracer) && (s->filter.len_bytes || s->notrace.len_bytes))
		err = record_settings_set(s, c, "options/function-trace", "1");
	if (!err && s->tells_host)
		err = record_settings_set(s, c, "options/funcgraph-host", "1");
	if (!err && s->tracer)
		err = record_settings_set(s, c, "current_tracer", s->tracer);
	return err ? err : put_events(s, c, ret_notes);
}

struct hv_err *record_settings_restore(const struct record_settings *s, struct client *c)
{
	struct hv_err *err = s->dir ? client_rmdir(c, s->dir) : NULL;

	if (!err && s->probed.len_bytes)
		err = record_probes_remove(c, s->probed.data);
	return err;
}
