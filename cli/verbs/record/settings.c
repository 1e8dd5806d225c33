/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "cli/verbs/record/probes.h"
#include "cli/verbs/record/recording.h"
#include "cli/verbs/record/section.h"

void record_settings_deinit(struct record_settings *s)
{
	hv_text_deinit(&s->filter);
	hv_text_deinit(&s->notrace);
	hv_text_deinit(&s->graph);
	hv_text_deinit(&s->events);
	hv_text_deinit(&s->probes);
	hv_text_deinit(&s->pairs);
	record_filters_deinit(&s->event_filters);
	hv_text_deinit(&s->pids);
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

/* Without any pair, whatever else is to be recorded is. */
static struct hv_err *put_pairs(const struct record_settings *s, const struct recording *r,
				struct hv_text *ret_notes)
{
	HV_AUTO_ERR struct hv_err *none = NULL;
	struct hv_err *err =
		record_pairs_switch_on(r->client, r->dir, s->pairs.data, &none, ret_notes);
	bool has_more = s->tracer || s->events.len_bytes || s->probes.len_bytes;

	return err || has_more ? err : hv_take(none);
}

static struct hv_err *put_events(const struct record_settings *s, const struct recording *r,
				 struct hv_text *ret_probed, struct hv_text *ret_notes)
{
	HV_AUTO_TEXT struct hv_text words = {0}, found = {0};
	struct client *c = r->client;
	struct hv_err *err = NULL;

	if (!record_settings_have_events(s))
		return NULL;
	if (s->probes.len_bytes)
		err = record_probes_define(c, s->probes.data, ret_probed);
	if (!err && s->events.len_bytes)
		err = record_events_find(c, s->events.data, &words, &found);
	if (!err && ret_probed->len_bytes)
		hv_text_printf(&words, "%s%s", words.len_bytes ? " " : "", ret_probed->data);
	if (!err)
		err = record_filters_put(&s->event_filters, c, r->dir, ret_notes);
	if (!err)
		err = recording_set(r, "set_event_pid", s->pids.data);
	if (!err)
		err = recording_set(r, "set_event", words.data);
	if (!err)
		hv_err_free(record_events_refused(c, r->dir, ret_notes));
	if (!err && found.len_bytes)
		err = record_events_switch_on(c, r->dir, found.data, ret_notes);
	if (!err && s->pairs.len_bytes)
		err = put_pairs(s, r, ret_notes);
	return err;
}

struct hv_err *record_settings_put(const struct record_settings *s, const struct recording *r,
				   struct hv_text *ret_probed, struct hv_text *ret_notes)
{
	struct hv_err *err = recording_set(r, "set_ftrace_filter", s->filter.data);

	if (!err)
		err = recording_set(r, "set_ftrace_notrace", s->notrace.data);
	if (!err)
		err = recording_set(r, "set_graph_function", s->graph.data);
	if (!err)
		err = recording_set(r, "set_ftrace_pid", s->pids.data);
	if (!err && record_section_has(s->tracer) && (s->filter.len_bytes || s->notrace.len_bytes))
		err = recording_set(r, "options/function-trace", "1");
	if (!err && s->tells_host)
		err = recording_set(r, "options/funcgraph-host", "1");
	if (!err && s->tracer)
		err = recording_set(r, "current_tracer", s->tracer);
	return err ? err : put_events(s, r, ret_probed, ret_notes);
}
