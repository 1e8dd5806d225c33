/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits the events of an instance to tasks: set_event_pid and set_event_notrace_pid.
 *
 * With the option event-fork, a new child of a listed task is added to the list, and a task is
 * removed when it is freed (trace_event_follow_fork). The host does this when it reads the guest's
 * sched_process_fork and sched_process_free events, which the guest then records, so earlier events
 * are matched with the earlier list. If such a record is lost, the child is not followed, or the
 * pid stays in the list. tree/files/tasks.c has the files. */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_event_pids_part;

/* Returns whether the lists of IN follow forks. */
bool hv_instance_follows_forks(const struct hv_instance *in);
/* Publishes a change of hv_instance_follows_forks(). EBUSY: the guest itself uses one of the
 * events; EOPNOTSUPP: this kernel's events cannot be recorded. */
struct hv_err *hv_event_forks_publish(struct hv_instance *in) hv_must_use;

/* Call both for each HV_EVENT_GUESTS: the first before the event is processed, the second after
 * it. */
void hv_event_forks_end_task(struct hv_instance *in, const struct hv_event *event);
void hv_event_forks_add_child(struct hv_instance *in, const struct hv_event *event);

/* Limits the events of IN to LIST, or to all tasks except LIST. On success IN owns the contents of
 * *LIST, and *LIST is empty. */
struct hv_err *hv_instance_set_event_pids(struct hv_instance *in, enum hv_filter_list which,
					  struct hv_pidlist *list) hv_must_use;

/* Returns whether the task limits of IN would have let it record EVENT, an HV_EVENT_GUESTS, if it
 * traced alone. */
bool hv_instance_has_event_task(const struct hv_instance *in, const struct hv_event *event);
