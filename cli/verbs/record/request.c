/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/request.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/guard.h"
#include "base/prefix.h"
#include "cli/client.h"
#include "cli/parse.h"
#include "cli/verbs/record/recording.h"
#include "cli/verbs/verb.h"

#define REPORTED_MAX 8
#define OF_HOST	     "host:"
#define ERROR	     ": error: " /* precedes the reason in error_log */
#define PROBES_FILE  "kprobe_events"
#define MARK_EVENT   "hvtrace:mark"

/* -- events ----------------------------------------------------------------------------------- */

/* "*" alone is also a word of set_event. */
static bool has_glob(const char *part)
{
	return strcmp(part, "*") != 0 && strpbrk(part, "*?[\\");
}

static bool is_glob(const char *word)
{
	HV_AUTO_FREE char *copy = hv_strdup(word);
	char *event = copy, *system = strsep(&event, ":");

	return event ? has_glob(system) || has_glob(event) : strpbrk(word, "*?[\\") != NULL;
}

/* NAME is SYSTEM:EVENT; a glob without a colon matches either part. Only globs that name the host
 * match its events (docs/users/events.md). */
static bool matches(const char *glob, const char *name)
{
	const char *event = strchr(name, ':');
	HV_AUTO_FREE char *system = event ? hv_format("%.*s", (int)(event - name), name) : NULL;

	if (hv_starts_with(name, OF_HOST) && !hv_starts_with(glob, OF_HOST))
		return false;
	if (strchr(glob, ':'))
		return fnmatch(glob, name, 0) == 0;
	return event && (fnmatch(glob, system, 0) == 0 || fnmatch(glob, event + 1, 0) == 0);
}

static void add_word(struct hv_text *ret, const char *word)
{
	hv_text_printf(ret, "%s%s", ret->len_bytes ? " " : "", word);
}

static bool has_word(const struct hv_text *words, const char *word)
{
	const size_t len = strlen(word);
	const char *at = words->data;

	for (; at && (at = strstr(at, word)); at += len)
		if ((at == words->data || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
			return true;
	return false;
}

static struct hv_err *add_matching(const char *glob, const char *available, struct hv_text *ret)
{
	HV_AUTO_FREE char *copy = hv_strdup(available);
	char *rest = copy;
	size_t nr = 0;

	for (char *name; (name = strsep(&rest, "\n"));) {
		if (!*name || !matches(glob, name))
			continue;
		if (!has_word(ret, name))
			add_word(ret, name);
		nr++;
	}
	return nr ? NULL : hv_err_new(EINVAL, "'%s': the guest has no such event", glob);
}

/* Adds to RET, with a blank before each except the first, the words of set_event for EVENTS: words
 * separated by blanks, each SYSTEM:EVENT, SYSTEM or EVENT, with shell globs in either part. Adds
 * the matches of globs to RET_FOUND. EINVAL: the guest has no event that a glob matches. */
static struct hv_err *record_events_find(struct client *c, const char *events, struct hv_text *ret,
					 struct hv_text *ret_found)
{
	HV_AUTO_FREE char *copy = hv_strdup(events);
	HV_AUTO_TEXT struct hv_text available = {0};
	struct hv_err *err = NULL;
	char *rest = copy;

	for (char *word; !err && (word = strsep(&rest, " "));) {
		if (!is_glob(word)) {
			add_word(ret, word);
			continue;
		}
		if (!available.len_bytes)
			err = client_get(c, "available_events", &available);
		hv_text_add(&available, "");
		if (!err)
			err = add_matching(word, available.data, ret_found);
	}
	return err;
}

static struct hv_err *switch_on(struct client *c, const char *dir, const char *words)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", dir);
	HV_AUTO_FREE char *line = hv_format("%s\n", words);

	return client_put(c, path, O_WRONLY | O_APPEND, line);
}

static bool may_be_skipped(const struct hv_err *err)
{
	return err && (err->code == EBUSY || err->code == ENODEV || err->code == EOPNOTSUPP);
}

/* Whether ERR is about the event WORD. Otherwise the guest could not be changed for any event. */
static bool is_of(const struct hv_err *err, const char *word)
{
	const char *rest = hv_after_prefix(err->reason, word);

	return rest && *rest == ':';
}

/* Like record_events_switch_on(), one event at a time. */
static struct hv_err *switch_on_each(struct client *c, const char *dir, const char *found,
				     struct hv_text *ret_notes)
{
	HV_AUTO_FREE char *copy = hv_strdup(found);
	HV_AUTO_TEXT struct hv_text told = {0};
	HV_AUTO_ERR struct hv_err *first = NULL;
	size_t nr = 0, nr_skipped = 0;
	char *rest = copy;

	for (char *word; (word = strsep(&rest, " ")); nr++) {
		struct hv_err *err = switch_on(c, dir, word);

		if (!err)
			continue;
		if (!may_be_skipped(err) || !is_of(err, word))
			return err;
		if (nr_skipped < REPORTED_MAX)
			hv_text_printf(&told, "%s%s", nr_skipped ? "; " : "", err->reason);
		nr_skipped++;
		hv_err_keep_first(&first, err);
	}
	if (nr_skipped == nr)
		return hv_take(first);
	if (nr_skipped > REPORTED_MAX)
		hv_text_printf(&told, "; and %zu more", nr_skipped - REPORTED_MAX);
	if (nr_skipped)
		hv_text_printf(ret_notes, "%zu of %zu events cannot be recorded: %s\n", nr_skipped,
			       nr, told.data);
	return NULL;
}

/* Enables the events FOUND by globs, in addition to those that are on. If some events cannot be
 * recorded now or ever, adds one line about them to RET_NOTES. Fails if no event can be
 * recorded. */
static struct hv_err *record_events_switch_on(struct client *c, const char *dir, const char *found,
					      struct hv_text *ret_notes)
{
	struct hv_err *err = switch_on(c, dir, found);

	if (may_be_skipped(err)) {
		hv_err_free(err);
		err = switch_on_each(c, dir, found, ret_notes);
	}
	return err && err->code != ECONNRESET ? client_error("set_event", err) : err;
}

/* Enables the second event first: if that fails, no event is enabled. */
static struct hv_err *switch_pair_on(struct client *c, const char *dir, const char *pair)
{
	const char *end = strchr(pair, ' ') + 1;
	HV_AUTO_FREE char *words = hv_format("%s %.*s", end, (int)(end - 1 - pair), pair);

	return switch_on(c, dir, words);
}

/* Enables PAIRS: each line has an event and the event that ends it. Adds a line to RET_NOTES for
 * each pair with an event that cannot be recorded now or ever. If that applies to all pairs,
 * *RET_NONE is the error of the first pair, otherwise NULL. */
static struct hv_err *record_pairs_switch_on(struct client *c, const char *dir, const char *pairs,
					     struct hv_err **ret_none, struct hv_text *ret_notes)
{
	HV_AUTO_FREE char *copy = hv_strdup(pairs);
	HV_AUTO_ERR struct hv_err *first = NULL;
	char *rest = copy;
	size_t nr_on = 0;

	*ret_none = NULL;
	for (char *pair; (pair = strsep(&rest, "\n"));) {
		struct hv_err *err = *pair ? switch_pair_on(c, dir, pair) : NULL;

		nr_on += *pair && !err;
		if (!err)
			continue;
		if (!may_be_skipped(err))
			return err->code != ECONNRESET ? client_error("set_event", err) : err;
		if (err->code == EBUSY)
			err = hv_err_add(err, "; try again when the guest's own tracing (events, "
					      "perf, bpftrace) has ended");
		hv_text_printf(ret_notes, "%.*s is not counted: %s\n", (int)strcspn(pair, " "),
			       pair, err->reason);
		hv_err_keep_first(&first, err);
	}
	if (!nr_on && first)
		*ret_none = client_error("set_event", hv_take(first));
	return NULL;
}

/* -- filters ---------------------------------------------------------------------------------- */

/* Adds FILTER for EVENT, which is SYSTEM:EVENT, SYSTEM or EVENT, with shell globs. Two filters of
 * the last added EVENT must both be true. */
static void record_filters_add(struct record_filters *s, const char *event, const char *filter)
{
	struct record_filter *last = s->nr ? &s->list[s->nr - 1] : NULL;

	if (last && last->event == event) {
		char *both = hv_format("(%s) && (%s)", last->filter, filter);

		free(last->filter);
		last->filter = both;
		return;
	}
	s->list = hv_realloc_array(s->list, s->nr + 1, sizeof(*s->list));
	s->list[s->nr++] = (struct record_filter){event, hv_strdup(filter)};
}

static void record_filters_deinit(struct record_filters *s)
{
	for (size_t i = 0; i < s->nr; i++)
		free(s->list[i].filter);
	free(s->list);
}

/* NAME is SYSTEM:EVENT. */
static struct hv_err *put_filter(struct client *c, const char *dir, char *name, const char *filter)
{
	char *event = name, *system = strsep(&event, ":");
	HV_AUTO_FREE char *path = hv_format("%s/events/%s/%s/filter", dir, system, event);

	return hv_err_in(client_echo(c, path, filter), "%s:%s", system, event);
}

/* Writes the filter to all events of AVAILABLE that match its name. */
static struct hv_err *put_one(const struct record_filter *f, struct client *c, const char *dir,
			      const char *available, struct hv_text *ret_notes)
{
	HV_AUTO_FREE char *copy = hv_strdup(available);
	HV_AUTO_ERR struct hv_err *first = NULL;
	size_t nr = 0, nr_refused = 0;
	char *rest = copy;

	for (char *name; (name = strsep(&rest, "\n"));) {
		struct hv_err *err;

		if (!strchr(name, ':') || !matches(f->event, name))
			continue;
		nr++;
		err = put_filter(c, dir, name, f->filter);
		nr_refused += err != NULL;
		hv_err_keep_first(&first, err);
	}
	if (!nr)
		return hv_err_new(EINVAL, "'%s': the guest has no such event", f->event);
	if (nr == nr_refused)
		return hv_take(first);
	if (nr_refused)
		hv_text_printf(ret_notes,
			       "-f '%s': %zu of %zu events of '%s' do not have these fields, and "
			       "are recorded without a filter\n",
			       f->filter, nr_refused, nr, f->event);
	return NULL;
}

/* Writes the filters of DIR's events, and empties DIR/error_log. Adds a line to RET_NOTES for each
 * filter that some of its events refuse. Fails if all of them refuse it, or if it matches no
 * events. */
static struct hv_err *record_filters_put(const struct record_filters *s, struct client *c,
					 const char *dir, struct hv_text *ret_notes)
{
	HV_AUTO_FREE char *log = hv_format("%s/error_log", dir);
	HV_AUTO_TEXT struct hv_text available = {0};
	struct hv_err *err = s->nr ? client_get(c, "available_events", &available) : NULL;

	hv_text_add(&available, "");
	for (size_t i = 0; !err && i < s->nr; i++)
		err = put_one(&s->list[i], c, dir, available.data, ret_notes);
	if (!err && s->nr)
		hv_err_free(client_echo(c, log, NULL));
	return err;
}

/* -- refused events --------------------------------------------------------------------------- */

struct hv_err *record_events_refused(struct client *c, const char *dir, struct hv_text *ret)
{
	HV_AUTO_FREE char *path = hv_format("%s/error_log", dir);
	HV_AUTO_TEXT struct hv_text log = {0};
	struct hv_err *err = client_get(c, path, &log);
	char *rest;

	if (err)
		return err;
	hv_text_add(&log, "");
	rest = log.data;
	for (char *line; (line = strsep(&rest, "\n"));) {
		const char *why = strstr(line, ERROR);

		if (line[0] == '[' && why)
			hv_text_printf(ret, "%s\n", why + strlen(ERROR));
	}
	return NULL;
}

/* -- probes ----------------------------------------------------------------------------------- */

/* Adds the event of LINE, "p:GROUP/NAME FUNCTION...". */
static struct hv_err *add_event(const char *line, struct hv_text *ret)
{
	const char *group = strchr(line, ':'), *slash = group ? strchr(group, '/') : NULL;

	if (!slash)
		return hv_err_new(EPROTO, PROBES_FILE ": '%s' is no probe", line);
	hv_text_printf(ret, "%s%.*s:%.*s", ret->len_bytes ? " " : "", (int)(slash - group - 1),
		       group + 1, (int)strcspn(slash + 1, " \n"), slash + 1);
	return NULL;
}

static bool is_mark(const char *event)
{
	return strcmp(event, MARK_EVENT) == 0;
}

static struct hv_err *define_mark(struct client *c, struct hv_text *ret)
{
	struct hv_err *err =
		client_put(c, PROBES_FILE, O_WRONLY | O_APPEND, RECORD_PROBES_MARK "\n");

	if (err && err->code != EEXIST)
		return err;
	hv_err_free(err);
	hv_text_printf(ret, "%s" MARK_EVENT, ret->len_bytes ? " " : "");
	return NULL;
}

/* The new probe is the one that the file lists after the existing ones. */
static struct hv_err *define(struct client *c, const char *line, struct hv_text *ret)
{
	HV_AUTO_FREE char *command = hv_format("%s\n", line);
	HV_AUTO_TEXT struct hv_text before = {0}, after = {0};
	struct hv_err *err = client_get(c, PROBES_FILE, &before);

	if (!err)
		err = client_put(c, PROBES_FILE, O_WRONLY | O_APPEND, command);
	if (!err)
		err = client_get(c, PROBES_FILE, &after);
	if (err)
		return err;
	if (after.len_bytes <= before.len_bytes)
		return hv_err_new(EINVAL, "-k: '%s' defines no probe", line);
	return add_event(after.data + before.len_bytes, ret);
}

/* Defines the probes of LINES, one per line. Adds to RET, with a blank before each except the
 * first, the event of each defined probe, GROUP:NAME, even if a later one is refused. */
static struct hv_err *record_probes_define(struct client *c, const char *lines, struct hv_text *ret)
{
	HV_AUTO_FREE char *copy = hv_strdup(lines);
	struct hv_err *err = NULL;
	char *rest = copy;

	for (char *line; !err && (line = strsep(&rest, "\n"));)
		err = strcmp(line, RECORD_PROBES_MARK) == 0
			      ? hv_err_in(define_mark(c, ret), "--marks")
			      : hv_err_in(define(c, line, ret), "-k '%s'", line);
	return err;
}

struct hv_err *record_probes_remove(struct client *c, const char *events)
{
	HV_AUTO_FREE char *copy = hv_strdup(events);
	struct hv_err *err = NULL;
	char *rest = copy;

	for (char *event; (event = strsep(&rest, " "));) {
		HV_AUTO_FREE char *command = hv_format("-:%s\n", event);
		struct hv_err *removed;

		*strchr(command + 2, ':') = '/';
		removed = client_put(c, PROBES_FILE, O_WRONLY | O_APPEND, command);
		if (removed && is_mark(event) &&
		    (removed->code == EBUSY || removed->code == ENOENT)) {
			hv_err_free(removed);
			continue;
		}
		hv_err_keep_first(&err, removed);
	}
	return err;
}

/* -- settings --------------------------------------------------------------------------------- */

static void record_settings_deinit(struct record_settings *s)
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

/* Returns false if TEXT is not a pid. */
static bool record_settings_add_pid(struct record_settings *s, const char *text)
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

static void record_settings_add_event(struct record_settings *s, const char *event)
{
	record_settings_add_glob(&s->events, event);
	s->event = event;
}

static void record_settings_add_probe(struct record_settings *s, const char *line)
{
	hv_text_printf(&s->probes, "%s%s", s->probes.len_bytes ? "\n" : "", line);
}

/* If no pair can be enabled, records the rest. */
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
	if (!err && s->reports_host)
		err = recording_set(r, "options/funcgraph-host", "1");
	if (!err && s->tracer)
		err = recording_set(r, "current_tracer", s->tracer);
	return err ? err : put_events(s, r, ret_probed, ret_notes);
}

/* -- the request ------------------------------------------------------------------------------ */

void record_request_deinit(struct record_request *q)
{
	record_settings_deinit(&q->settings);
}

bool record_request_take_option(struct cli *cli, struct record_request *q, int option,
				int *ret_exit)
{
	struct record_settings *s = &q->settings;

	*ret_exit = EXIT_OK;
	if (option == 'p')
		s->tracer = optarg;
	else if (option == 'l')
		record_settings_add_glob(&s->filter, optarg);
	else if (option == 'n')
		record_settings_add_glob(&s->notrace, optarg);
	else if (option == 'g')
		record_settings_add_glob(&s->graph, optarg);
	else if (option == 'e')
		record_settings_add_event(s, optarg);
	else if (option == 'k')
		record_settings_add_probe(s, optarg);
	else if (option == 'M')
		record_settings_add_probe(s, RECORD_PROBES_MARK);
	else if (option == 'f' && !s->event)
		*ret_exit = usage_error(cli, "-f: give it after the -e EVENT that it is for");
	else if (option == 'f')
		record_filters_add(&s->event_filters, s->event, optarg);
	else if (option == 'P' && !record_settings_add_pid(s, optarg))
		*ret_exit = usage_error(cli, "-P: '%s' is not a process id", optarg);
	else if (option == 'j')
		q->is_json = true;
	else if (option == 'H')
		s->reports_host = true;
	else if (option == 'D')
		q->target.has_date = true;
	else if (option == 'T' && !duration_parse(optarg, &q->for_ns))
		*ret_exit = usage_error(cli, "--for: '%s' is not " DURATION_WANTED, optarg);
	else if (option == 'O' && !percent_parse(optarg, &q->max_overhead_ppm))
		*ret_exit = usage_error(cli, "--max-overhead: '%s' is not " PERCENT_WANTED, optarg);
	return *ret_exit == EXIT_OK;
}

bool record_request_take_operands(struct cli *cli, int argc, char **argv, struct record_request *q,
				  int *ret_exit)
{
	if (cli->nr_operands > 1) {
		*ret_exit =
			usage_error(cli, "write `--` before the command: '%s'", argv[optind + 1]);
		return false;
	}
	if (!cli->nr_operands) {
		*ret_exit = usage_error(cli, "missing operands: wanted: DOMAIN");
		return false;
	}
	q->spec = argv[optind];
	q->command = optind + 1 < argc ? argv + optind + 1 : NULL;
	return true;
}
