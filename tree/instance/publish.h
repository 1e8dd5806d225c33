/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Computes the guest events that all parts of all instances need, and passes them to the session:
 * enabled types, types with stacks, memory that trampolines read, and filters that trampolines
 * apply (tree/settings/event_filter.h). Each instance filters the recorded events again
 * (event_filters.h).
 *
 * The guest applies filters only if nothing needs the event except instances that enabled it with a
 * filter. Triggers, histograms, event probes, wakeup tracers, task lists that follow forks, and
 * system call events need all events. core/part.h lets parts declare needs; functions.h and
 * commands.h publish the rest. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "tree/instance/core/instance.h"

struct hv_event_type;

/* -- skipped events ---------------------------------------------------------------------------- */

/* Events that a write named together with others and that it skips without failing, because the
 * guest's kernel cannot record them at all, or because they cannot be recorded now, for example
 * while the guest itself uses them. */

#define HV_SKIPPED_NAMES 8

/* An event that cannot be recorded now. Members are owned. */
struct hv_skipped_event {
	char *name;
	struct hv_err *why;
};

/* Zero-initialised is empty. */
struct hv_skipped {
	size_t nr_never;
	/* The reason for the first event that can never be recorded, with its name. Owned. */
	struct hv_err *never;
	size_t nr_busy;
	/* The first events that cannot be recorded now. */
	struct hv_skipped_event busy[HV_SKIPPED_NAMES];
};

/* Return one message for each kind, for a write that named NR events, or NULL. */
struct hv_err *hv_skipped_never(const struct hv_skipped *l, size_t nr);
struct hv_err *hv_skipped_busy(const struct hv_skipped *l, size_t nr);
void hv_skipped_deinit(struct hv_skipped *l);

/* -- switching events -------------------------------------------------------------------------- */

struct hv_event_switch {
	const struct hv_event_type **types; /* from the catalogue; borrowed */
	size_t nr;
	unsigned on; /* 0: disable them */
	/* Result, owned by the caller: types that could not be enabled but do not fail the
	 * request. */
	struct hv_skipped skipped;
};

/* See hv_instance_publish_events() and hv_instances_publish_filter(). */
struct hv_err *hv_publish_events(struct hv_instance *in) hv_must_use;
void hv_publish_filter(const struct hv_instances *all, const struct hv_event_type *type);

/* -- events of an instance --------------------------------------------------------------------- */

/* Selects the guest events that instances record. An event is enabled in the guest while any
 * instance wants it, and the host gives each instance its own events (demux.h).
 *
 * The guest has only one list of tasks, which contains set_ftrace_pid. But set_ftrace_pid limits
 * only functions, and set_event_pid only events. So if an instance with events uses either, the
 * guest records all tasks and the host filters, as for several instances (hv_instances_single).
 * tracer/tracepoints/event_tracer.h enables events in the guest; tree/files/event.c has the
 * files. */

/* Switches events of IN. Enables those that can be enabled, and returns the error of the first that
 * cannot, as in the kernel (__ftrace_set_clr_event_nolock). If other events remain, CHANGE skips
 * without an error: types that can never be recorded, and, if several events are named, those that
 * cannot be recorded now because the guest uses them (EBUSY) or has removed what a probe is for
 * (ENODEV). */
struct hv_err *hv_instance_switch_events(struct hv_instance *in,
					 struct hv_event_switch *change) hv_must_use;
/* Disables all events of IN. */
struct hv_err *hv_instance_end_events(struct hv_instance *in) hv_must_use;

/* Call it after modules were loaded or removed: drops the events of removed modules. */
void hv_instances_forget_events(struct hv_instances *all);
