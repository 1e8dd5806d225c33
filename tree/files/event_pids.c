/* SPDX-License-Identifier: GPL-2.0-or-later */
/* set_event_pid and set_event_notrace_pid: the tasks whose events are recorded. */
#include "tree/files/files.h"
#include "tree/instance/events/event_pids.h"

static struct hv_pidlist *list_of(struct hv_file *f)
{
	return &f->at.instance->selection.event_pids[f->at.node->arg];
}

static struct hv_err *open_pids(struct hv_file *f)
{
	struct hv_pidlist none = {0};
	struct hv_err *err = NULL;

	hv_instances_drain(f->at.instance->all);
	if (hv_file_truncates(f) && hv_pidlist_limits(list_of(f)))
		err = hv_instance_set_event_pids(f->at.instance, f->at.node->arg, &none);
	hv_pidlist_deinit(&none);
	return err;
}

static void show_pids(struct hv_file *f)
{
	if (list_of(f)->nr)
		hv_pidlist_text(list_of(f), &f->text);
}

static struct hv_err *write_pids(struct hv_file *f, const char *buf, size_t len_bytes,
				 size_t *ret_len)
{
	struct hv_pidlist list;
	struct hv_err *err;

	hv_instances_drain(f->at.instance->all);
	err = hv_pidlist_add(list_of(f), buf, len_bytes, &list, ret_len);
	if (err)
		return err;
	err = hv_instance_set_event_pids(f->at.instance, f->at.node->arg, &list);
	hv_pidlist_deinit(&list);
	return err;
}

const struct hv_node hv_event_pid_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "record the guest's own events only of these tasks (thread ids); empty: of all",
	.arg = HV_LIST_FILTER,
	.open = open_pids,
	.show = show_pids,
	.write = write_pids,
};

const struct hv_node hv_event_notrace_pid_node = {
	.reads = HV_RIGHT_READ,
	.writes = HV_NEEDS_EVENTS,
	.help = "never record the guest's own events of these tasks (thread ids)",
	.arg = HV_LIST_NOTRACE,
	.open = open_pids,
	.show = show_pids,
	.write = write_pids,
};
