/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tasks to which the events of an instance are limited: set_event_pid and
 * set_event_notrace_pid.
 * The option event-fork: while it is on, a child of a task in set_event_pid or
 * set_event_notrace_pid comes into the list as it is made, and a task leaves it when nothing is
 * left of it (trace_event_follow_fork). The host does so when it comes to the guest's own events of
 * this, sched_process_fork and sched_process_free, which the guest records meanwhile: what it
 * recorded before is decided by the list as it was. If a ring has lost such a record, the child is
 * not followed, or the pid stays.
 * Leaves to others: the files (tree/files/event_pids.c). */
#pragma once

#include "tree/instance/core/instance.h"

extern const struct hv_part hv_event_pids_part;

/* Returns whether the lists of IN follow forks. */
bool hv_instance_follows_forks(const struct hv_instance *in);
/* Tells the session that hv_instance_follows_forks() has changed. EBUSY: the guest itself uses one
 * of the events; EOPNOTSUPP: this kernel's cannot be recorded. */
struct hv_err *hv_event_forks_publish(struct hv_instance *in) hv_must_use;

/* To be called for each HV_EVENT_GUESTS, the first before it is taken, the other one behind it. */
void hv_event_forks_end_task(struct hv_instance *in, const struct hv_event *event);
void hv_event_forks_add_child(struct hv_instance *in, const struct hv_event *event);

/* Limits the events of IN to LIST, or to all tasks but those of LIST. On success IN owns what was
 * in *LIST, and *LIST is empty. */
struct hv_err *hv_instance_set_event_pids(struct hv_instance *in, enum hv_filter_list which,
					  struct hv_pidlist *list) hv_must_use;

/* Whether IN, if it were alone, would have recorded EVENT, an HV_EVENT_GUESTS, by its tasks. */
bool hv_instance_has_event_task(const struct hv_instance *in, const struct hv_event *event);
