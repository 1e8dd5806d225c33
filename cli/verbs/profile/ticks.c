/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/ticks.h"

#include "profile/profile.h"

/* Each kernel since 2.6 calls update_process_times(user_tick) once for each tick of a CPU. */
#define FUNCTION HV_PROFILE_FUNCTION
#define EVENT	 HV_PROFILE_SYSTEM "/" HV_PROFILE_EVENT
#define PROBE	 "p:" EVENT " " FUNCTION " " HV_PROFILE_USER "=$arg1:s32"

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
	struct hv_err *err =
		profile_explain(profile_probe_define(&t->probe, r->client, EVENT,
						     PROBE " " HV_PROFILE_USTACK "=$ustack\n"),
				ret_no_users);

	if (!err)
		err = profile_explain(profile_probe_define(&t->probe, r->client, EVENT, PROBE "\n"),
				      ret_no_users);
	if (!err && t->probe.is_defined)
		err = recording_set(r, "set_event", HV_PROFILE_SYSTEM ":" HV_PROFILE_EVENT);
	if (err)
		return err;
	err = trace_function(r);
	return t->probe.is_defined ? profile_explain(err, ret_no_stacks) : err;
}

struct hv_err *profile_ticks_end(struct profile_ticks *t, struct client *c)
{
	return profile_probe_remove(&t->probe, c);
}
