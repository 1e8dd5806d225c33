/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/ticks.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "profile/profile.h"

/* Each kernel since 2.6 calls update_process_times(user_tick) once for each tick of a CPU. */
#define FUNCTION HV_PROFILE_FUNCTION
#define EVENT	 HV_PROFILE_SYSTEM "/" HV_PROFILE_EVENT
#define PROBE	 "p:" EVENT " " FUNCTION " " HV_PROFILE_USER "=$arg1:s32"
#define PROBES	 "kprobe_events"

static struct hv_err *write_line(struct client *c, const char *line)
{
	return client_put(c, PROBES, O_WRONLY | O_APPEND, line);
}

/* An existing definition is another profile's, and identical. */
static struct hv_err *define(struct profile_ticks *t, struct client *c, const char *line)
{
	struct hv_err *err = write_line(c, line);

	t->is_defined = t->is_defined || !err || err->code == EEXIST;
	if (!err || err->code != EEXIST)
		return err;
	hv_err_free(err);
	return NULL;
}

/* Moves the reason of ERR to *RET_WHY, unless the session is gone. */
static struct hv_err *explain(struct hv_err *err, char **ret_why)
{
	if (!err || client_is_gone(err))
		return err;
	free(*ret_why);
	*ret_why = hv_strdup(err->reason);
	hv_err_free(err);
	return NULL;
}

/* The function tracer records the stack of the kernel: probes have no stacks. */
static struct hv_err *trace_function(const struct recording *r)
{
	struct hv_err *err = recording_set(r, "set_ftrace_filter", FUNCTION);

	if (!err)
		err = recording_set(r, "options/func_stack_trace", "1");
	return err ? err : recording_set(r, "current_tracer", "function");
}

struct hv_err *profile_ticks_begin(struct profile_ticks *t, const struct recording *r,
				   char **ret_no_users, char **ret_no_stacks)
{
	struct hv_err *err = explain(define(t, r->client, PROBE " " HV_PROFILE_USTACK "=$ustack\n"),
				     ret_no_users);

	if (!err && !t->is_defined)
		err = explain(define(t, r->client, PROBE "\n"), ret_no_users);
	if (!err && t->is_defined)
		err = recording_set(r, "set_event", HV_PROFILE_SYSTEM ":" HV_PROFILE_EVENT);
	if (err)
		return err;
	err = trace_function(r);
	return t->is_defined ? explain(err, ret_no_stacks) : err;
}

struct hv_err *profile_ticks_end(struct profile_ticks *t, struct client *c)
{
	struct hv_err *err = t->is_defined ? write_line(c, "-:" EVENT "\n") : NULL;

	t->is_defined = false;
	if (!err || (err->code != EBUSY && err->code != ENOENT))
		return err;
	hv_err_free(err);
	return NULL;
}
