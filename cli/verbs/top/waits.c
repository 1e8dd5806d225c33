/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/top/waits.h"

#include <fcntl.h>
#include <string.h>

#include "base/text.h"
#include "latency/wait_export.h"

#define BUFFER_KB  "4096" /* per vCPU: for the events between two takes */
#define MANY_READS 32	  /* a take with this many reads may have left events */
#define TAKES_MAX  16
#define SWITCH	   "sched:sched_switch"
#define WAKING	   "sched:sched_waking"
#define NEW_TASK   "sched:sched_wakeup_new"

void top_waits_deinit(struct top_waits *w)
{
	recording_deinit(&w->recording);
	free(w->why);
}

/* Without NEW_TASK, the first waits of new tasks are not measured. */
static struct hv_err *find_events(struct client *c, struct hv_text *ret)
{
	HV_AUTO_TEXT struct hv_text available = {0};
	struct hv_err *err = client_get(c, "available_events", &available);

	hv_text_add(&available, "\n");
	hv_text_printf(ret, SWITCH " " WAKING "%s\n",
		       strstr(available.data, NEW_TASK "\n") ? " " NEW_TASK : "");
	return err;
}

/* The service omits events that can never be recorded. */
static struct hv_err *put_events(struct top_waits *w, struct client *c)
{
	HV_AUTO_FREE char *path = hv_format("%s/set_event", w->recording.dir);
	HV_AUTO_TEXT struct hv_text words = {0}, text = {0};
	struct hv_err *err = find_events(c, &words);

	if (!err)
		err = client_put(c, path, O_WRONLY | O_TRUNC, words.data);
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

static struct hv_err *begin(struct top_waits *w, struct client *c, const char *instance)
{
	const struct record_request q = {
		.instance = instance,
		.buffer_kb = BUFFER_KB,
		.target = {.path = "run queue", .format = &hv_wait_format},
	};
	struct hv_err *err;

	recording_init(&w->recording, &q.target);
	err = recording_begin(&w->recording, c, &q);

	if (!err)
		err = put_events(w, c);
	if (!err)
		err = recording_open(&w->recording);
	return err ? err : recording_start(&w->recording);
}

struct hv_err *top_waits_begin(struct top_waits *w, struct client *c, const char *instance)
{
	struct hv_err *err = begin(w, c, instance), *end_err;

	if (!err || client_is_gone(err))
		return err;
	end_err = top_waits_end(w, err->reason);
	hv_err_free(err);
	return end_err;
}

struct hv_err *top_waits_take(struct top_waits *w)
{
	struct recording *r = &w->recording;
	struct hv_err *err = NULL;
	bool more = r->dir;

	for (unsigned i = 0; !err && more && i < TAKES_MAX; i++) {
		err = recording_take(r, 0, &more);
		more = more && r->file.nr_reads >= MANY_READS;
	}
	return err;
}

bool top_waits_get(const struct top_waits *w, struct hv_wait_times *ret)
{
	const struct recording *r = &w->recording;

	if (!r->dir || !recording_is_open(r))
		return false;
	*ret = hv_wait_export_times(r->file.export)->tasks;
	return true;
}

struct hv_err *top_waits_end(struct top_waits *w, const char *why)
{
	struct recording *r = &w->recording;
	struct hv_err *err = NULL;

	if (why) {
		free(w->why);
		w->why = hv_strdup(why);
	}
	if (r->dir)
		err = recording_close(r);
	hv_err_keep_first(&err, recording_remove(r));
	recording_deinit(r);
	*r = (struct recording)RECORDING_NONE;
	return err;
}
