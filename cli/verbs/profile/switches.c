/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/verbs/profile/switches.h"

#include "profile/offcpu.h"

#define EVENTS "sched:sched_switch sched:sched_waking sched:sched_wakeup_new"
#define EVENT  HV_PROFILE_SYSTEM "/" HV_OFFCPU_EVENT
#define PROBE  "p:" EVENT " " HV_OFFCPU_FUNCTION " " HV_PROFILE_USTACK "=$ustack\n"
/* Tasks that are runnable, or were preempted (256 and higher bits), are not blocked. */
#define BLOCKS "stacktrace if prev_pid != 0 && prev_state != 0 && prev_state < 256"

static struct hv_err *put_events(struct profile_switches *s, const struct recording *r,
				 const struct profile_ticks *ticks, char **ret_no_users)
{
	HV_AUTO_TEXT struct hv_text events = {0};
	struct hv_err *err = NULL;

	if (s->has_stacks)
		err = profile_explain(profile_probe_define(&s->probe, r->client, EVENT, PROBE),
				      ret_no_users);
	if (err)
		return err;
	hv_text_add(&events, EVENTS);
	if (s->probe.is_defined)
		hv_text_add(&events, " " HV_PROFILE_SYSTEM ":" HV_OFFCPU_EVENT);
	if (ticks->probe.is_defined)
		hv_text_add(&events, " " HV_PROFILE_SYSTEM ":" HV_PROFILE_EVENT);
	return recording_set(r, "set_event", events.data);
}

struct hv_err *profile_switches_begin(struct profile_switches *s, const struct recording *r,
				      const struct profile_ticks *ticks, char **ret_no_users,
				      char **ret_no_stacks)
{
	struct hv_err *err = put_events(s, r, ticks, ret_no_users);

	if (!err && s->has_stacks)
		err = profile_explain(recording_set(r, "events/sched/sched_switch/trigger", BLOCKS),
				      ret_no_stacks);
	if (!err && s->has_wakers)
		err = profile_explain(
			recording_set(r, "events/sched/sched_waking/trigger", "stacktrace"),
			ret_no_stacks);
	return err;
}

struct hv_err *profile_switches_end(struct profile_switches *s, struct client *c)
{
	return profile_probe_remove(&s->probe, c);
}
