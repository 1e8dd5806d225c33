/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/record/probes.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"

#define FILE_NAME  "kprobe_events"
#define MARK_EVENT "hvtrace:mark"

/* Adds the event of LINE, "p:GROUP/NAME FUNCTION...". */
static struct hv_err *add_event(const char *line, struct hv_text *ret)
{
	const char *group = strchr(line, ':'), *slash = group ? strchr(group, '/') : NULL;

	if (!slash)
		return hv_err_new(EPROTO, FILE_NAME ": '%s' is no probe", line);
	hv_text_printf(ret, "%s%.*s:%.*s", ret->len_bytes ? " " : "", (int)(slash - group - 1),
		       group + 1, (int)strcspn(slash + 1, " \n"), slash + 1);
	return NULL;
}

/* The file shows a new probe behind those that were there. */
static bool is_mark(const char *event)
{
	return strcmp(event, MARK_EVENT) == 0;
}

static struct hv_err *define_mark(struct client *c, struct hv_text *ret)
{
	struct hv_err *err = client_put(c, FILE_NAME, O_WRONLY | O_APPEND, RECORD_PROBES_MARK "\n");

	if (err && err->code != EEXIST)
		return err;
	hv_err_free(err);
	hv_text_printf(ret, "%s" MARK_EVENT, ret->len_bytes ? " " : "");
	return NULL;
}

static struct hv_err *define(struct client *c, const char *line, struct hv_text *ret)
{
	HV_AUTO_FREE char *command = hv_format("%s\n", line);
	HV_AUTO_TEXT struct hv_text before = {0}, after = {0};
	struct hv_err *err = client_get(c, FILE_NAME, &before);

	if (!err)
		err = client_put(c, FILE_NAME, O_WRONLY | O_APPEND, command);
	if (!err)
		err = client_get(c, FILE_NAME, &after);
	if (err)
		return err;
	if (after.len_bytes <= before.len_bytes)
		return hv_err_new(EINVAL, "-k: '%s' defines no probe", line);
	return add_event(after.data + before.len_bytes, ret);
}

struct hv_err *record_probes_define(struct client *c, const char *lines, struct hv_text *ret)
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
		removed = client_put(c, FILE_NAME, O_WRONLY | O_APPEND, command);
		if (removed && is_mark(event) &&
		    (removed->code == EBUSY || removed->code == ENOENT)) {
			hv_err_free(removed);
			continue;
		}
		hv_err_keep_first(&err, removed);
	}
	return err;
}
