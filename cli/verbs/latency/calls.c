/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/calls.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"

#define TURNS_MAX 50 /* limit for takes of the recorded events */
#define HOST_TIME "options/funcgraph-host"
#define TRACER	  "current_tracer"
#define GRAPH	  "function_graph"

void latency_calls_deinit(struct latency_calls *l)
{
	recording_deinit(&l->recording);
	hv_text_deinit(&l->filter);
}

void latency_calls_want(struct latency_calls *l, const char *glob)
{
	hv_text_printf(&l->filter, "%s%s", l->filter.len_bytes ? " " : "", glob);
}

/* If the host's share of calls is unavailable, records the calls without it: KVM may provide no
 * steal time, or the guest's own ftrace may use the functions in which tasks leave the CPU. */
static struct hv_err *start_graph(const struct recording *r, char **ret_no_host)
{
	struct hv_err *err = recording_set(r, HOST_TIME, "1");

	if (!err)
		err = recording_set(r, TRACER, GRAPH);
	if (!err || client_is_gone(err))
		return err;
	*ret_no_host = hv_strdup(err->reason);
	hv_err_free(err);
	err = recording_set(r, HOST_TIME, "0");
	return err ? err : recording_set(r, TRACER, GRAPH);
}

struct hv_err *latency_calls_begin(struct latency_calls *l, struct client *c, const char *clock,
				   char **ret_no_host)
{
	HV_AUTO_FREE char *instance = hv_format("latency-%d-calls", (int)getpid());
	const struct record_request q = {
		.instance = instance,
		.clock = clock,
		.target = {.path = "calls", .format = &hv_calls_format},
	};
	struct hv_err *err;

	if (!l->filter.len_bytes)
		return NULL;
	recording_init(&l->recording, &q.target);
	err = recording_begin(&l->recording, c, &q);
	if (!err)
		err = recording_set(&l->recording, "set_ftrace_filter", l->filter.data);
	return err ? err : start_graph(&l->recording, ret_no_host);
}

struct hv_err *latency_calls_start(struct latency_calls *l)
{
	struct hv_err *err;

	if (!l->recording.dir)
		return NULL;
	err = recording_open(&l->recording);
	if (err)
		return err;
	l->is_on = true;
	return recording_start(&l->recording);
}

struct hv_err *latency_calls_take(struct latency_calls *l, bool *ret_more)
{
	bool more = false;
	struct hv_err *err = NULL;

	if (recording_is_open(&l->recording))
		err = recording_take(&l->recording, 0, &more);
	*ret_more |= more;
	return err;
}

struct hv_err *latency_calls_stop(struct latency_calls *l)
{
	struct hv_err *err = l->is_on ? recording_stop(&l->recording) : NULL;

	l->is_on = false;
	return err;
}

/* Takes the events before it removes the tracer, because without a tracer the buffer is empty. */
struct hv_err *latency_calls_give_up(struct latency_calls *l)
{
	bool more = true;
	struct hv_err *err = latency_calls_stop(l);

	for (unsigned i = 0; !err && more && i < TURNS_MAX; i++) {
		more = false;
		err = latency_calls_take(l, &more);
	}
	return err ? err : recording_set(&l->recording, TRACER, "nop");
}

struct hv_err *latency_calls_end(struct latency_calls *l)
{
	return record_file_end(&l->recording.file);
}

struct hv_err *latency_calls_close(struct latency_calls *l)
{
	struct hv_err *err = recording_close(&l->recording);

	if (!client_is_gone(err))
		hv_err_keep_first(&err, recording_remove(&l->recording));
	return err;
}
