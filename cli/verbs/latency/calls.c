/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/latency/calls.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"

#define TURNS_MAX 50 /* in which what was recorded is taken */
#define HOST_TIME "options/funcgraph-host"
#define TRACER	  "current_tracer"
#define GRAPH	  "function_graph"

void latency_calls_deinit(struct latency_calls *l)
{
	record_file_deinit(&l->file);
	hv_text_deinit(&l->filter);
	free(l->dir);
}

void latency_calls_want(struct latency_calls *l, const char *glob)
{
	hv_text_printf(&l->filter, "%s%s", l->filter.len_bytes ? " " : "", glob);
}

static struct hv_err *set(struct latency_calls *l, struct client *c, const char *file,
			  const char *text)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s", l->dir, file);

	return client_echo(c, path, text);
}

/* Calls are recorded also without what the host took of them: the guest has no steal time unless
 * KVM tells it, and functions in which tasks leave the CPU may be in the guest's own hands. */
static struct hv_err *start_graph(struct latency_calls *l, struct client *c, char **ret_no_host)
{
	struct hv_err *err = set(l, c, HOST_TIME, "1");

	if (!err)
		err = set(l, c, TRACER, GRAPH);
	if (!err || client_is_gone(err))
		return err;
	*ret_no_host = hv_strdup(err->reason);
	hv_err_free(err);
	err = set(l, c, HOST_TIME, "0");
	return err ? err : set(l, c, TRACER, GRAPH);
}

struct hv_err *latency_calls_begin(struct latency_calls *l, struct client *c, const char *clock,
				   const char *size_kb, char **ret_no_host)
{
	HV_AUTO_FREE char *dir = hv_format("instances/latency-%d-calls", (int)getpid());
	struct hv_err *err;

	if (!l->filter.len_bytes)
		return NULL;
	err = client_mkdir(c, dir, CLIENT_DIR_OURS);
	if (err)
		return err;
	l->dir = hv_take(dir);
	err = set(l, c, "tracing_on", "0");
	if (!err && size_kb[0])
		hv_err_free(set(l, c, "buffer_size_kb", size_kb));
	if (!err)
		err = set(l, c, "trace_clock", clock);
	if (!err)
		err = set(l, c, "set_ftrace_filter", l->filter.data);
	return err ? err : start_graph(l, c, ret_no_host);
}

struct hv_err *latency_calls_start(struct latency_calls *l, struct client *c)
{
	struct hv_err *err;

	if (!l->dir)
		return NULL;
	l->file.path = "calls";
	l->file.format = &hv_calls_format;
	err = record_file_begin(&l->file, c, l->dir);
	if (err)
		return err;
	l->is_on = true;
	return set(l, c, "tracing_on", "1");
}

struct hv_err *latency_calls_take(struct latency_calls *l, struct client *c, bool *ret_more)
{
	bool more = false;
	struct hv_err *err = l->file.export ? record_file_take(&l->file, c, 0, &more) : NULL;

	*ret_more |= more;
	return err;
}

struct hv_err *latency_calls_stop(struct latency_calls *l, struct client *c)
{
	struct hv_err *err = l->is_on ? set(l, c, "tracing_on", "0") : NULL;

	l->is_on = false;
	return err;
}

/* Without a tracer the buffer is empty. */
struct hv_err *latency_calls_give_up(struct latency_calls *l, struct client *c)
{
	bool more = true;
	struct hv_err *err = latency_calls_stop(l, c);

	for (unsigned i = 0; !err && more && i < TURNS_MAX; i++) {
		more = false;
		err = latency_calls_take(l, c, &more);
	}
	return err ? err : set(l, c, TRACER, "nop");
}

struct hv_err *latency_calls_end(struct latency_calls *l)
{
	return l->file.export ? record_file_end(&l->file) : NULL;
}

struct hv_err *latency_calls_close(struct latency_calls *l, struct client *c)
{
	struct hv_err *err = l->file.export ? record_file_close(&l->file, c) : NULL;

	if (l->dir && !client_is_gone(err))
		hv_err_keep_first(&err, client_rmdir(c, l->dir));
	return err;
}
