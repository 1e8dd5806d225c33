/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/events/event_pids.h"

#include <string.h>

#include "kernel/events/catalogue.h"
#include "tracer/tracepoints/event_types.h"
#include "tree/instance/core/sharing.h"

#define FORK "sched_process_fork"
#define FREE "sched_process_free"

bool hv_instance_follows_forks(const struct hv_instance *in)
{
	const struct hv_pidlist *lists = hv_instance_selection(in)->event_pids;

	return hv_options_on(hv_instance_options(in), HV_OPT_EVENT_FORK) &&
	       (hv_pidlist_limits(&lists[HV_LIST_FILTER]) ||
		hv_pidlist_limits(&lists[HV_LIST_NOTRACE]));
}

static bool is(const struct hv_event_type *type, const char *name)
{
	return strcmp(type->system, "sched") == 0 && strcmp(type->name, name) == 0;
}

static bool follows(const struct hv_instance *in, const struct hv_event_type *type)
{
	return hv_instance_follows_forks(in) && (is(type, FORK) || is(type, FREE));
}

static struct hv_err *check_fields(const struct hv_catalogue *c)
{
	static const struct {
		const char *event, *field;
	} needed[] = {{FORK, "parent_pid"}, {FORK, "child_pid"}, {FREE, "pid"}};

	for (size_t i = 0; i < HV_ARRAY_LEN(needed); i++) {
		const struct hv_event_type *type = hv_catalogue_find(c, "sched", needed[i].event);
		const struct hv_event_field *field =
			type ? hv_event_type_field(c, type, needed[i].field) : NULL;

		if (!field || field->size_bytes != sizeof(uint32_t))
			return hv_err_new(EOPNOTSUPP, "the guest has no event sched:%s with %s",
					  needed[i].event, needed[i].field);
	}
	return NULL;
}

struct hv_err *hv_event_forks_publish(struct hv_instance *in)
{
	const struct hv_catalogue *c;
	struct hv_err *err;

	if (!hv_instance_follows_forks(in))
		return hv_instance_publish_triggers(in);
	err = hv_event_types_catalogue(hv_instance_session(in)->types, &c);
	if (!err)
		err = check_fields(c);
	if (!err)
		err = hv_instances_begin_sharing(hv_instance_all(in));
	return err ? err : hv_instance_publish_triggers(in);
}

/* Returns the type of E, of the catalogue *RET, or NULL. */
static const struct hv_event_type *type_of(const struct hv_instance *in, const struct hv_event *e,
					   const struct hv_catalogue **ret)
{
	HV_AUTO_ERR struct hv_err *err =
		hv_event_types_catalogue(hv_instance_session(in)->types, ret);

	return err ? NULL : hv_catalogue_by_id(*ret, e->id);
}

static bool read_u32(const struct hv_event *e, const struct hv_event_field *field, uint32_t *ret)
{
	return field && field->size_bytes == sizeof(*ret) && hv_span_u32(e->entry, field->off, ret);
}

/* Reads the pid in field NAME of EVENT. Returns false unless EVENT's name is WHAT. */
static bool read_pid(const struct hv_instance *in, const struct hv_event *event, const char *what,
		     const char *name, uint32_t *ret)
{
	const struct hv_catalogue *c;
	const struct hv_event_type *type = type_of(in, event, &c);

	return type && is(type, what) && read_u32(event, hv_event_type_field(c, type, name), ret);
}

/* event_filter_pid_sched_process_exit() */
void hv_event_forks_end_task(struct hv_instance *in, const struct hv_event *event)
{
	uint32_t pid;

	if (!hv_instance_follows_forks(in) || !read_pid(in, event, FREE, "pid", &pid))
		return;
	for (unsigned i = 0; i < HV_NR_PID_LISTS; i++)
		hv_pidlist_remove(&hv_instance_selection(in)->event_pids[i], pid);
}

/* event_filter_pid_sched_process_fork() */
void hv_event_forks_add_child(struct hv_instance *in, const struct hv_event *event)
{
	uint32_t parent, child;

	if (!hv_instance_follows_forks(in) || !read_pid(in, event, FORK, "parent_pid", &parent) ||
	    !read_pid(in, event, FORK, "child_pid", &child))
		return;
	for (unsigned i = 0; i < HV_NR_PID_LISTS; i++)
		if (hv_pidlist_has(&hv_instance_selection(in)->event_pids[i], parent))
			hv_pidlist_insert(&hv_instance_selection(in)->event_pids[i], child);
}

/* -- the lists --------------------------------------------------------------------------------- */

struct hv_err *hv_instance_set_event_pids(struct hv_instance *in, enum hv_filter_list which,
					  struct hv_pidlist *list)
{
	struct hv_pidlist *now = &hv_instance_selection(in)->event_pids[which], before;
	bool followed = hv_instance_follows_forks(in);
	struct hv_err *err = NULL;

	hv_instances_drain(hv_instance_all(in));
	before = *now;
	*now = *list;
	if (hv_instances_single(hv_instance_all(in)) != hv_instances_top(hv_instance_all(in)))
		err = hv_instances_begin_sharing(hv_instance_all(in));
	if (!err && followed != hv_instance_follows_forks(in))
		err = hv_event_forks_publish(in);
	else if (!err && hv_instance_has_events(in))
		err = hv_instances_share(hv_instance_all(in)) ? hv_instance_retrace(in) : NULL;
	if (err) {
		*now = before;
		if (followed != hv_instance_follows_forks(in))
			hv_err_free(hv_event_forks_publish(in));
		return err;
	}
	hv_pidlist_deinit(&before);
	*list = (struct hv_pidlist){0};
	return NULL;
}

/* Events of one task that concern a second task: the field with its pid
 * (trace_event_ignore_this_pid, event_filter_pid_sched_switch_probe_pre). */
static const struct {
	const char *name;
	const char *field;
} of_two[] = {
	{"sched_switch", "next_pid"},
	{"sched_wakeup", "pid"},
	{"sched_wakeup_new", "pid"},
	{"sched_waking", "pid"},
};

static bool find_other(const struct hv_instance *in, const struct hv_event *e, uint32_t *ret)
{
	const struct hv_event_field *field = NULL;
	const struct hv_catalogue *c;
	const struct hv_event_type *type = type_of(in, e, &c);

	if (!type || strcmp(type->system, "sched") != 0)
		return false;
	for (size_t i = 0; i < HV_ARRAY_LEN(of_two); i++)
		if (strcmp(type->name, of_two[i].name) == 0)
			field = hv_event_type_field(c, type, of_two[i].field);
	return read_u32(e, field, ret);
}

static bool has_task(const struct hv_instance *in, uint32_t pid)
{
	const struct hv_pidlist *lists = hv_instance_selection(in)->event_pids;

	return (!hv_pidlist_limits(&lists[HV_LIST_FILTER]) ||
		hv_pidlist_has(&lists[HV_LIST_FILTER], pid)) &&
	       !hv_pidlist_has(&lists[HV_LIST_NOTRACE], pid);
}

bool hv_instance_has_event_task(const struct hv_instance *in, const struct hv_event *event)
{
	const struct hv_pidlist *lists = hv_instance_selection(in)->event_pids;
	uint32_t other;

	if ((!hv_pidlist_limits(&lists[HV_LIST_FILTER]) && !lists[HV_LIST_NOTRACE].nr) ||
	    has_task(in, event->pid))
		return true;
	return find_other(in, event, &other) && has_task(in, other);
}

const struct hv_part hv_event_pids_part = {
	.acts = hv_instance_follows_forks,
	.follows = follows,
};
