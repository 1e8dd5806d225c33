/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers wakeup, wakeup_rt and wakeup_dl of an instance. They measure how long a woken task
 * waits for a CPU, and keep everything that the instance recorded during the worst wait.
 *
 * The host computes this from the guest's scheduler events, which the guest records while an
 * instance has such a tracer, regardless of tracing_on. As in the kernel, one woken task is
 * followed at a time, and only one instance can have such a tracer
 * (kernel/trace/trace_sched_wakeup.c).
 *
 *	sched_wakeup, sched_wakeup_new   follow the task, if it is urgent enough
 *	sched_migrate_task               the task will run on another CPU
 *	sched_switch                     the task runs; if this wait is the longest, the live buffer
 *	                                 becomes the snapshot, which `trace` shows
 *
 * publish.h has the events that the guest records, tree/format/ prints the wait. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracer/events/event.h"
#include "tree/instance/core/tracer.h"

struct hv_instance;
struct hv_part;
struct hv_section;

extern const struct hv_part hv_wakeups_part;

/* The tracers set options like the kernel's, restore them at the end, and drop the worst wait but
 * keep its duration. Begin: EBUSY: another instance has such a tracer, or the guest itself uses one
 * of the events; EOPNOTSUPP: this kernel's events cannot be recorded; ENOMEM. End: on error the
 * tracer stays. */
extern const struct hv_tracer_ops hv_tracer_wakeup;
extern const struct hv_tracer_ops hv_tracer_wakeup_rt;
extern const struct hv_tracer_ops hv_tracer_wakeup_dl;

/* Returns whether IN has a wakeup tracer. */
bool hv_wakeups_are_on(const struct hv_instance *in);

/* Call it when recording starts: a wait that began earlier is dropped (wakeup_tracer_start). */
void hv_wakeups_restart(struct hv_instance *in);

/* Stores EVENT, made from the tracer's records, in the instance's buffer. */
typedef void (*hv_wakeups_put)(void *ctx, const struct hv_event *event);
/* Processes EVENT, a guest event. IS_RECORDED: IN records on its CPU. */
struct hv_wakeups_consumer {
	bool is_recorded;
	hv_wakeups_put put;
	void *ctx;
};
void hv_wakeups_follow(struct hv_instance *in, const struct hv_event *event,
		       const struct hv_wakeups_consumer *consumer);

/* Returns the worst wait, which is in the snapshot: its duration, vCPU and task, without ends. The
 * caller gets a reference. NULL: there is none. */
struct hv_section *hv_wakeups_worst(struct hv_instance *in);
/* Clears the snapshot. The duration of the worst wait still counts. */
void hv_wakeups_forget_worst(struct hv_instance *in);
/* Returns when the wait in the snapshot began, on IN's clock: the time of the last wakeup record in
 * it. 0: no such record. */
uint64_t hv_wakeups_start_ns(const struct hv_instance *in);
