/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers wakeup, wakeup_rt and wakeup_dl of an instance: how long a task that was woken waits
 * until a CPU runs it, and of the worst wait everything that the instance has recorded meanwhile.
 * The host computes it from the guest's own events of the scheduler, which the guest records while
 * an instance has such a tracer, whatever tracing_on says. As in the kernel, one woken task is
 * followed at a time, and one instance at a time has such a tracer (kernel/trace/
 * trace_sched_wakeup.c).
 *
 *	sched_wakeup, sched_wakeup_new   the task is followed, if it is urgent enough
 *	sched_migrate_task               it will run on another CPU
 *	sched_switch                     it runs; if it had to wait longer than any before, the
 *	                                 live buffer becomes the snapshot, which `trace` shows
 *
 * Leaves to others: which events the guest records (events.h), the text (tree/format/). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tracer/events/event.h"
#include "tree/instance/core/tracer.h"

struct hv_catalogue;
struct hv_event_type;
struct hv_instance;
struct hv_part;
struct hv_section;
struct hv_wakeups;

extern const struct hv_part hv_wakeups_part;

/* They set options as the kernel's tracers do, and back at the end, and forget the worst wait but
 * for its time. Begin: EBUSY: another instance has such a tracer, or the guest itself uses one of
 * the events; EOPNOTSUPP: this kernel's events cannot be recorded; ENOMEM. End: on errors it goes
 * on. */
extern const struct hv_tracer_ops hv_tracer_wakeup;
extern const struct hv_tracer_ops hv_tracer_wakeup_rt;
extern const struct hv_tracer_ops hv_tracer_wakeup_dl;

/* Returns whether IN has one of them. */
bool hv_wakeups_are_on(const struct hv_instance *in);

/* Recording has been switched on: what was followed before does not count (wakeup_tracer_start). */
void hv_wakeups_restart(struct hv_instance *in);

/* Puts EVENT, which RECORDS of the tracer make, into the buffer of the instance. */
typedef void (*hv_wakeups_put)(void *ctx, const struct hv_event *event);
/* Follows EVENT, one of the guest's own. IS_RECORDED: recording of IN is on for its CPU. */
struct hv_wakeups_sink {
	bool is_recorded;
	hv_wakeups_put put;
	void *ctx;
};
void hv_wakeups_follow(struct hv_instance *in, const struct hv_event *event,
		       const struct hv_wakeups_sink *sink);

/* The worst wait that the snapshot has: its length, vCPU and task, without ends; the caller has a
 * reference then. NULL: there is none. */
struct hv_section *hv_wakeups_worst(struct hv_instance *in);
/* Empties the snapshot. The time of the worst wait still counts. */
void hv_wakeups_forget_worst(struct hv_instance *in);
/* When the wait that the snapshot has began, on the clock of IN: the time of the last record of a
 * wakeup there. 0: it has none. */
uint64_t hv_wakeups_start_ns(const struct hv_instance *in);
