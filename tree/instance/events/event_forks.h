/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option event-fork: while it is on, a child of a task in set_event_pid or
 * set_event_notrace_pid comes into the list as it is made, and a task leaves it when nothing is
 * left of it (trace_event_follow_fork). The host does so when it comes to the guest's own events of
 * this, sched_process_fork and sched_process_free, which the guest records meanwhile: what it
 * recorded before is decided by the list as it was. If a ring has lost such a record, the child is
 * not followed, or the pid stays.
 * Leaves to others: the lists (selection.h), what they decide (events.h). */
#pragma once

#include "tree/instance/core/instance.h"

struct hv_event_type;

/* Returns whether the guest records events of TYPE for this. */
bool hv_event_forks_need(const struct hv_instance *in, const struct hv_event_type *type);
/* Tells the session that hv_instance_follows_forks() has changed. EBUSY: the guest itself uses one
 * of the events; EOPNOTSUPP: this kernel's cannot be recorded. */
struct hv_err *hv_event_forks_publish(struct hv_instance *in) hv_must_use;

/* To be called for each HV_EVENT_GUESTS, the first before it is taken, the other one behind it. */
void hv_event_forks_end_task(struct hv_instance *in, const struct hv_event *event);
void hv_event_forks_add_child(struct hv_instance *in, const struct hv_event *event);
