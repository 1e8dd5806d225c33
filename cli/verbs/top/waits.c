/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/waits.h"

#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "latency/wait_export.h"

#define BUFFER_KB  "4096" /* of a vCPU: what comes between two takes */
#define MANY_READS 32	  /* in a take: there may be more */
#define TAKES_MAX  16
#define SWITCH	   "sched:sched_switch"
#define WAKING	   "sched:sched_waking"
#define NEW_TASK   "sched:sched_wakeup_new"

void top_waits_deinit(struct top_waits *w)
{
	record_file_deinit(&w->file);
	free(w->dir);
	free(w->why);
}

static struct hv_err *set(struct top_waits *w, struct client *c, const char *file, int flags,
			  const char *text)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s", w->dir, file);

	return client_put(c, path, O_WRONLY | flags, text);
}

/* A kernel without the last event does not tell of the first waits of new tasks. */
static struct hv_err *find_events(struct client *c, struct hv_text *ret)
{
	HV_AUTO_TEXT struct hv_text available = {0};
	struct hv_err *err = client_get(c, "available_events", &available);

	hv_text_add(&available, "\n");
	hv_text_printf(ret, SWITCH " " WAKING "%s\n",
		       strstr(available.data, NEW_TASK "\n") ? " " NEW_TASK : "");
	return err;
}

/* An event that can never be recorded is left out by the service. */
static struct hv_err *put_events(struct top_waits *w, struct client *c)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", w->dir);
	HV_AUTO_TEXT struct hv_text words = {0}, text = {0};
	struct hv_err *err = find_events(c, &words);

	if (!err)
		err = set(w, c, "set_event", O_TRUNC, words.data);
	if (!err)
		err = client_get(c, path, &text);
	if (err)
		return err;
	hv_text_add(&text, "");
	if (!strstr(text.data, SWITCH) || !strstr(text.data, WAKING))
		return hv_err_new(EOPNOTSUPP,
				  "events of this guest's scheduler cannot be recorded");
	return NULL;
}

static struct hv_err *begin(struct top_waits *w, struct client *c, const char *dir)
{
	struct hv_err *err = client_mkdir(c, dir, CLIENT_DIR_OURS);

	if (err)
		return err;
	w->dir = hv_strdup(dir);
	w->file.path = "run queue";
	w->file.format = &hv_wait_format;
	err = set(w, c, "tracing_on", 0, "0\n");
	if (err)
		return err;
	hv_err_free(set(w, c, "buffer_size_kb", 0, BUFFER_KB "\n"));
	err = put_events(w, c);
	if (!err)
		err = record_file_begin(&w->file, c, w->dir);
	return err ? err : set(w, c, "tracing_on", 0, "1\n");
}

struct hv_err *top_waits_begin(struct top_waits *w, struct client *c, const char *dir)
{
	struct hv_err *err = begin(w, c, dir), *end_err;

	if (!err || client_is_gone(err))
		return err;
	end_err = top_waits_end(w, c, err->reason);
	hv_err_free(err);
	return end_err;
}

struct hv_err *top_waits_take(struct top_waits *w, struct client *c)
{
	struct hv_err *err = NULL;
	bool more = w->dir;

	for (unsigned i = 0; !err && more && i < TAKES_MAX; i++) {
		err = record_file_take(&w->file, c, 0, &more);
		more = more && w->file.nr_reads >= MANY_READS;
	}
	return err;
}

bool top_waits_get(const struct top_waits *w, struct hv_wait_times *ret)
{
	if (!w->dir || !w->file.export)
		return false;
	*ret = hv_wait_export_times(w->file.export)->tasks;
	return true;
}

struct hv_err *top_waits_end(struct top_waits *w, struct client *c, const char *why)
{
	struct hv_err *err = NULL;

	if (why) {
		free(w->why);
		w->why = hv_strdup(why);
	}
	if (w->file.export)
		err = record_file_close(&w->file, c);
	if (w->dir)
		hv_err_keep_first(&err, client_rmdir(c, w->dir));
	free(hv_take(w->dir));
	record_file_deinit(&w->file);
	w->file = (struct record_file)RECORD_FILE_NONE;
	return err;
}
