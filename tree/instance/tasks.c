/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/instance/tasks.h"

#include "kernel/tasks/tasks.h"

#define MISSING_SHOWN 8

/* Whether the guest follows forks, as published last. */
static enum hv_forks *forks_of(const struct hv_instances *all)
{
	return hv_instances_state(all, HV_PART_TASKS);
}

const struct hv_part hv_tasks_part = {.all_bytes = sizeof(enum hv_forks)};

enum hv_forks hv_tasks_forks(const struct hv_instances *all)
{
	return *forks_of(all);
}

static bool follows_forks(const struct hv_instance *in)
{
	return hv_options_on(hv_instance_options(in), HV_OPT_FUNCTION_FORK) &&
	       (hv_instance_selection(in)->pids[HV_LIST_FILTER].nr ||
		hv_instance_selection(in)->pids[HV_LIST_NOTRACE].nr);
}

static struct hv_err *refuse_forks_of_several(const struct hv_instances *all)
{
	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in)) {
		const char *name = hv_instance_name(in);

		if (follows_forks(in))
			return hv_err_new(EBUSY,
					  "several instances trace, and %s%s has the"
					  " option function-fork",
					  name ? "instances/" : "", name ? name : "the top");
	}
	return NULL;
}

/* Only the guest sees forks, and it has only one list of pids. SINGLE is NULL if several instances
 * trace. */
static struct hv_err *publish_forks(struct hv_instances *all, const struct hv_instance *single)
{
	enum hv_forks how = HV_FORKS_NOT;
	struct hv_err *err = single ? NULL : refuse_forks_of_several(all);

	if (err)
		return err;
	if (single && follows_forks(single))
		how = hv_instance_selection(single)->pids[HV_LIST_FILTER].nr ? HV_FORKS_OF_ONLY
									     : HV_FORKS_OF_OTHERS;
	err = hv_scope_follow_forks(hv_instances_session(all)->scope, how);
	if (!err)
		*forks_of(all) = how;
	return err;
}

void hv_tasks_publish_cpus(struct hv_instances *all)
{
	const struct hv_instance *single = hv_instances_single(all);

	hv_scope_mute_cpus(hv_instances_session(all)->scope,
			   single ? hv_instance_selection(single)->muted : NULL);
}

struct hv_err *hv_tasks_publish(struct hv_instances *all)
{
	static const struct hv_pidlist none[HV_NR_PID_LISTS];
	const struct hv_instance *single = hv_instances_single(all);
	const struct hv_pidlist *lists = single ? hv_instance_selection(single)->pids : none;
	const struct hv_pidlist *only = &lists[HV_LIST_FILTER], *without = &lists[HV_LIST_NOTRACE];
	struct hv_err *err = publish_forks(all, single);

	if (err)
		return err;
	hv_tasks_publish_cpus(all);
	return hv_scope_filter_pids(hv_instances_session(all)->scope, only->pids, only->nr,
				    without->pids, without->nr);
}

/* If all tasks of a list have exited, the list stays unchanged, because an empty list would mean
 * all tasks. */
void hv_tasks_learn(struct hv_instance *in)
{
	bool only = hv_tasks_forks(hv_instance_all(in)) == HV_FORKS_OF_ONLY;
	struct hv_pidlist *list =
		&hv_instance_selection(in)->pids[only ? HV_LIST_FILTER : HV_LIST_NOTRACE];
	struct hv_pidlist now;

	if (hv_tasks_forks(hv_instance_all(in)) == HV_FORKS_NOT ||
	    hv_instances_single(hv_instance_all(in)) != in)
		return;
	now.nr = hv_scope_pids(hv_instance_session(in)->scope,
			       only ? HV_PIDS_RECORDED : HV_PIDS_NOT_RECORDED, &now.pids);
	if (!now.nr)
		return;
	hv_pidlist_deinit(list);
	*list = now;
}

static bool has_pid(const struct hv_tasks *tasks, uint32_t pid)
{
	for (size_t i = 0; i < tasks->nr; i++)
		if (tasks->list[i].pid == pid)
			return true;
	return false;
}

static void add_missing(const struct hv_instance *in, const struct hv_tasks *tasks,
			struct hv_text *ret)
{
	const struct hv_pidlist *only = &hv_instance_selection(in)->pids[HV_LIST_FILTER];
	const char *name = hv_instance_name(in);
	size_t nr = 0;

	for (size_t i = 0; i < only->nr && nr < MISSING_SHOWN; i++) {
		if (has_pid(tasks, only->pids[i]))
			continue;
		if (!nr++)
			hv_text_printf(ret, "%s%s%sset_ftrace_pid:", name ? "instances/" : "",
				       name ? name : "", name ? "/" : "");
		hv_text_printf(ret, " %u", only->pids[i]);
	}
	if (nr)
		hv_text_add(ret, "\n");
}

void hv_tasks_missing(struct hv_instances *all, struct hv_text *ret)
{
	struct hv_tasks tasks = {0};
	HV_AUTO_ERR struct hv_err *err = NULL;
	size_t nr = 0;

	for (const struct hv_instance *in = hv_instances_top(all); in; in = hv_instance_next(in))
		nr += hv_instance_selection(in)->pids[HV_LIST_FILTER].nr;
	if (nr)
		err = hv_tasks_read(hv_instances_session(all)->kernel, &tasks);
	for (const struct hv_instance *in = hv_instances_top(all); nr && !err && in;
	     in = hv_instance_next(in))
		add_missing(in, &tasks, ret);
	hv_tasks_deinit(&tasks);
}
