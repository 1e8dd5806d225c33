/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/limits.h"

#include <errno.h>
#include <fcntl.h>

#include "base/guard.h"
#include "base/text.h"
#include "cli/client.h"
#include "latency/limit_fields.h"

#define FILE_NAME "kprobe_events"
#define GROUP	  "cfs_rq->tg->css.cgroup->kn"
#define BANDWIDTH "cfs_rq->tg->cfs_bandwidth."
#define RUN_QUEUE " tg=cfs_rq->tg cpu=cfs_rq->rq->cpu"

static struct hv_err *put(struct client *c, const char *line)
{
	return client_put(c, FILE_NAME, O_WRONLY | O_APPEND, line);
}

/* An existing definition was made by this or another command and is identical. */
static struct hv_err *define(struct client *c, const char *line)
{
	struct hv_err *err = put(c, line);

	if (!err || err->code != EEXIST)
		return err;
	hv_err_free(err);
	return NULL;
}

/* Defines a probe that records the names of the throttled group and its ancestors. PARENT is the
 * member of struct kernfs_node that points to the parent. */
static struct hv_err *define_throttle(struct client *c, const char *parent)
{
	HV_AUTO_TEXT struct hv_text line = {0};

	hv_text_printf(&line, "p:" HV_LIMIT_SYSTEM "/" HV_LIMIT_EVENT " throttle_cfs_rq" RUN_QUEUE
			      " curr=cfs_rq->curr " HV_LIMIT_QUOTA "=" BANDWIDTH
			      "quota " HV_LIMIT_PERIOD "=" BANDWIDTH "period");
	for (unsigned i = 0; i < HV_LIMIT_NAMES; i++) {
		hv_text_printf(&line, " " HV_LIMIT_NAME "%u=" GROUP, i);
		for (unsigned up = 0; up < i; up++)
			hv_text_printf(&line, "->%s", parent);
		hv_text_add(&line, "->name:string");
	}
	hv_text_add(&line, "\n");
	return define(c, line.data);
}

/* PARENT was renamed in Linux 6.15 (633488947ef6, "kernfs: Use RCU to access
 * kernfs_node::parent"). */
static struct hv_err *define_all(struct client *c)
{
	struct hv_err *err = define_throttle(c, "parent");

	if (err && err->code == ENOENT) {
		hv_err_free(err);
		err = define_throttle(c, "__parent");
	}
	return err ? err
		   : define(c, "p:" HV_LIMIT_SYSTEM "/" HV_UNLIMIT_EVENT
			       " unthrottle_cfs_rq" RUN_QUEUE "\n");
}

struct hv_err *latency_limits_begin(struct latency_limits *l, struct client *c, char **ret_why)
{
	struct hv_err *err = define_all(c);

	*ret_why = NULL;
	l->is_defined = true;
	l->is_on = !err;
	if (!err || client_is_gone(err))
		return err;
	*ret_why = hv_strdup(err->reason);
	hv_err_free(err);
	return NULL;
}

/* Other commands may record the event, or may have removed it. */
static struct hv_err *remove_event(struct client *c, const char *event)
{
	HV_AUTO_FREE char *line = hv_format("-:" HV_LIMIT_SYSTEM "/%s\n", event);
	struct hv_err *err = put(c, line);

	if (!err || (err->code != EBUSY && err->code != ENOENT))
		return err;
	hv_err_free(err);
	return NULL;
}

struct hv_err *latency_limits_end(struct latency_limits *l, struct client *c)
{
	struct hv_err *err;

	if (!l->is_defined)
		return NULL;
	err = remove_event(c, HV_LIMIT_EVENT);
	if (!client_is_gone(err))
		hv_err_keep_first(&err, remove_event(c, HV_UNLIMIT_EVENT));
	return err;
}
