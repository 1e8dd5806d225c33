/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/ticks.h"

#include <stdlib.h>

#include "base/guard.h"
#include "base/text.h"

/* Each kernel since 2.6 calls update_process_times(user_tick) once for each tick of a CPU. */
#define FUNCTION HV_PROFILE_FUNCTION
/* It calls this function, for RCU, with the same argument (since Linux 5.0). */
#define LATER	 "rcu_sched_clock_irq"
#define GROUP	 HV_PROFILE_SYSTEM "/"
#define SET	 HV_PROFILE_SYSTEM ":"
#define USER	 " " HV_PROFILE_USER "=$arg1:s32"
#define PROBE(event, function, values)                                                             \
	{                                                                                          \
		GROUP event, SET event, "p:" GROUP event " " function values "\n", function        \
	}
#define STACK(fetch) " " HV_PROFILE_USTACK "=" fetch

struct probe {
	const char *event, *set, *line, *function;
};

/* Profiles with copies and without can run at the same time, so their events have different names. */
static const struct probe words = PROBE(HV_PROFILE_EVENT, FUNCTION, USER STACK("$ustack"));
static const struct probe plain = PROBE(HV_PROFILE_EVENT, FUNCTION, USER);
/* A copy is longer than an event, so two functions record it. The rest comes first. */
static const struct probe rest = PROBE(HV_PROFILE_REST, FUNCTION, STACK("$ustackrest"));
static const struct probe copies = PROBE(HV_PROFILE_COPY, LATER, USER STACK("$ustackcopy"));
static const struct probe short_copies =
	PROBE(HV_PROFILE_COPY, FUNCTION, USER STACK("$ustackcopy"));

/* The function tracer records the stack of the kernel: probes have no stacks. */
static struct hv_err *trace_function(const struct recording *r, const char *function)
{
	struct hv_err *err = recording_set(r, "set_ftrace_filter", function);

	if (!err)
		err = recording_set(r, "options/func_stack_trace", "1");
	return err ? err : recording_set(r, "current_tracer", "function");
}

static struct hv_err *define(struct profile_probe *probe, const struct recording *r,
			     const struct probe *p, char **ret_why)
{
	return profile_explain(profile_probe_define(probe, r->client, p->event, p->line), ret_why);
}

/* Defines the first of these probes that the guest supports, and sets *RET to it. *RET_NO_USERS
 * explains why the guest does not support the last one that was tried. */
static struct hv_err *define_first(struct profile_ticks *t, const struct recording *r,
				   const struct probe **ret, char **ret_no_users)
{
	const struct probe *const with_copies[] = {&copies, &short_copies, &plain};
	const struct probe *const without[] = {&words, &plain};
	const struct probe *const *list = t->has_copies ? with_copies : without;
	size_t nr = t->has_copies ? HV_ARRAY_LEN(with_copies) : HV_ARRAY_LEN(without);
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < nr && !t->probe.is_defined; i++) {
		*ret = list[i];
		err = define(&t->probe, r, list[i], ret_no_users);
	}
	if (!err && t->probe.is_defined && *ret == &short_copies) {
		free(*ret_no_users); /* copies are recorded */
		*ret_no_users = NULL;
	}
	return err;
}

static struct hv_err *set_events(const struct profile_ticks *t, const struct recording *r,
				 const struct probe *p)
{
	HV_AUTO_FREE char *both = hv_format("%s %s", p->set, rest.set);

	return recording_set(r, "set_event", t->rest.is_defined ? both : p->set);
}

struct hv_err *profile_ticks_begin(struct profile_ticks *t, const struct recording *r,
				   char **ret_no_users, char **ret_no_stacks)
{
	HV_AUTO_FREE char *no_rest = NULL;
	const struct probe *p = &plain;
	struct hv_err *err = define_first(t, r, &p, ret_no_users);

	if (!err && p == &copies && t->probe.is_defined)
		err = define(&t->rest, r, &rest, &no_rest);
	if (!err && t->probe.is_defined)
		err = set_events(t, r, p);
	if (err)
		return err;
	err = trace_function(r, p->function);
	return t->probe.is_defined ? profile_explain(err, ret_no_stacks) : err;
}

struct hv_err *profile_ticks_end(struct profile_ticks *t, struct client *c)
{
	struct hv_err *err = profile_probe_remove(&t->probe, c);

	hv_err_keep_first(&err, profile_probe_remove(&t->rest, c));
	return err;
}

struct hv_err *profile_ticks_define(struct profile_probe *p, struct client *c)
{
	return profile_probe_define(p, c, words.event, words.line);
}
