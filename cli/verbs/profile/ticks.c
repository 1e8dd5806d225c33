/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/ticks.h"

#include "profile/profile.h"

/* Each kernel since 2.6 calls update_process_times(user_tick) once for each tick of a CPU. */
#define FUNCTION HV_PROFILE_FUNCTION
#define GROUP	 HV_PROFILE_SYSTEM "/"
#define SET	 HV_PROFILE_SYSTEM ":"
#define PROBE(event, stack)                                                                        \
	{                                                                                          \
		GROUP event, SET event,                                                            \
			"p:" GROUP event " " FUNCTION " " HV_PROFILE_USER "=$arg1:s32" stack "\n"  \
	}
#define STACK(fetch) " " HV_PROFILE_USTACK "=" fetch

struct probe {
	const char *event, *set, *line;
};

/* Profiles with copies and without can run at the same time, so their events have different names. */
static const struct probe words = PROBE(HV_PROFILE_EVENT, STACK("$ustack"));
static const struct probe copies = PROBE(HV_PROFILE_COPY, STACK("$ustackcopy"));
static const struct probe plain = PROBE(HV_PROFILE_EVENT, "");

/* The function tracer records the stack of the kernel: probes have no stacks. */
static struct hv_err *trace_function(const struct recording *r)
{
	struct hv_err *err = recording_set(r, "set_ftrace_filter", FUNCTION);

	if (!err)
		err = recording_set(r, "options/func_stack_trace", "1");
	return err ? err : recording_set(r, "current_tracer", "function");
}

static struct hv_err *define(struct profile_ticks *t, const struct recording *r,
			     const struct probe *p, char **ret_no_users)
{
	return profile_explain(profile_probe_define(&t->probe, r->client, p->event, p->line),
			       ret_no_users);
}

struct hv_err *profile_ticks_begin(struct profile_ticks *t, const struct recording *r,
				   char **ret_no_users, char **ret_no_stacks)
{
	const struct probe *p = t->has_copies ? &copies : &words;
	struct hv_err *err = define(t, r, p, ret_no_users);

	if (!err && !t->probe.is_defined) {
		p = &plain;
		err = define(t, r, p, ret_no_users);
	}
	if (!err && t->probe.is_defined)
		err = recording_set(r, "set_event", p->set);
	if (err)
		return err;
	err = trace_function(r);
	return t->probe.is_defined ? profile_explain(err, ret_no_stacks) : err;
}

struct hv_err *profile_ticks_end(struct profile_ticks *t, struct client *c)
{
	return profile_probe_remove(&t->probe, c);
}
