/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record_events.h"

#include <fnmatch.h>
#include <string.h>

#include "cli/client.h"

#define ERROR ": error: " /* in error_log, before the reason */

/* "*" alone is a word of set_event, too. */
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

/* NAME is SYSTEM:EVENT; a glob without a colon is of either. */
static bool matches(const char *glob, const char *name)
{
	const char *event = strchr(name, ':');
	HV_AUTO_FREE char *system = event ? hv_format("%.*s", (int)(event - name), name) : NULL;

	if (strchr(glob, ':'))
		return fnmatch(glob, name, 0) == 0;
	return event && (fnmatch(glob, system, 0) == 0 || fnmatch(glob, event + 1, 0) == 0);
}

static void add_word(struct hv_text *ret, const char *word)
{
	hv_text_printf(ret, "%s%s", ret->len_bytes ? " " : "", word);
}

static struct hv_err *add_matching(const char *glob, const char *available, struct hv_text *ret)
{
	HV_AUTO_FREE char *copy = hv_strdup(available);
	char *rest = copy;
	size_t nr = 0;

	for (char *name; (name = strsep(&rest, "\n"));) {
		if (!*name || !matches(glob, name))
			continue;
		add_word(ret, name);
		nr++;
	}
	return nr ? NULL : hv_err_new(EINVAL, "'%s': the guest has no such event", glob);
}

struct hv_err *record_events_find(struct client *c, const char *events, struct hv_text *ret)
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
			err = add_matching(word, available.data, ret);
	}
	return err;
}

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
