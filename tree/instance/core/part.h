/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interface of the parts of an instance, such as triggers or probes: what a part needs from the
 * guest, and how it handles recorded events. Each part defines a struct hv_part; parts.c lists
 * them.
 *
 * Lower layers query all parts through instance.h and report changes through struct hv_publisher.
 * So they include no part. Any function may be NULL. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "tree/settings/event_set.h"

struct hv_catalogue;
struct hv_event;
struct hv_event_type;
struct hv_instance;
struct hv_instances;
struct hv_synth;

/* The index of a part in the table of parts.c, and of its state (instance.h). */
enum hv_part_id {
	HV_PART_BUDGET,
	HV_PART_DEMUX,
	HV_PART_MATCH,
	HV_PART_EVENT_FILTERS,
	HV_PART_TRIGGERS,
	HV_PART_EVENT_COMMANDS,
	HV_PART_HISTS,
	HV_PART_EVENT_PIDS,
	HV_PART_EVENT_STACKS,
	HV_PART_USER_STACKS,
	HV_PART_HOST_MADE,
	HV_PART_SYSCALLS,
	HV_PART_KPROBES,
	HV_PART_EPROBES,
	HV_PART_SYNTHS,
	HV_PART_SECTIONS,
	HV_PART_WAKEUPS,
	HV_PART_STACK_TRACER,
	HV_PART_FUNCTIONS,
	HV_PART_HOUSEKEEPING,
	HV_NR_PARTS
};

struct hv_part {
	/* The sizes of the part's state per instance and for all instances, which begins as zeros.
	 * 0: the part sets a state when it needs one. */
	size_t state_bytes, all_bytes;
	/* Set up the state, and free what it owns. The state itself is freed afterwards. */
	void (*init)(struct hv_instance *in);
	void (*deinit)(struct hv_instance *in);
	void (*init_all)(struct hv_instances *all);
	void (*deinit_all)(struct hv_instances *all);

	/* -- needs -- */

	/* Returns whether the host acts on guest events for IN. The guest then records them
	 * regardless of tracing_on. */
	bool (*acts)(const struct hv_instance *in);
	/* Returns whether the part acts on REF, by a trigger, a histogram, or a function
	 * command. */
	bool (*acts_on)(const struct hv_instance *in, struct hv_event_ref ref);
	/* Returns whether IN needs events derived from REF. */
	bool (*probes)(const struct hv_instance *in, struct hv_event_ref ref);
	/* Returns whether IN uses TYPE to follow tasks. Files do not show this. */
	bool (*follows)(const struct hv_instance *in, const struct hv_event_type *type);
	/* Returns whether the part makes events of SYNTH. */
	bool (*makes)(const struct hv_instance *in, const struct hv_synth *synth);
	bool (*wants_stacks)(const struct hv_instance *in, struct hv_event_ref ref);
	bool (*wants_user_stacks)(const struct hv_instance *in, struct hv_event_ref ref);
	/* Returns whether sites must call trampolines for the part, regardless of IN's tracer. */
	bool (*calls_trampolines)(const struct hv_instance *in);
	/* Returns whether SET contains an event made by the host. */
	bool (*makes_any)(const struct hv_instances *all, const struct hv_event_set *set);
	/* Returns whether the host must drain the guest's rings. */
	bool (*takes_rings)(const struct hv_instances *all);

	/* -- events -- */

	/* Events were lost before EVENT, which IN receives next. */
	void (*lose)(struct hv_instance *in, const struct hv_event *event);
	/* All events that the guest had recorded were drained. */
	void (*drained)(struct hv_instances *all);
	/* IN uses the guest's rings as its buffer again. */
	void (*returns_rings)(struct hv_instance *in);

	/* -- removed events -- */

	/* Drops state of types that are no longer in C. */
	void (*forget_gone)(struct hv_instance *in, const struct hv_catalogue *c);
	/* Drops state that acts on REF. */
	void (*forget)(struct hv_instance *in, struct hv_event_ref ref);
};

/* The parts, and the functions that publish their combined needs to the session. */
struct hv_publisher {
	const struct hv_part *const *parts; /* HV_NR_PARTS, by their ids */
	/* Publishes the sites, tasks and commands of IN's tracer (trace.h). */
	struct hv_err *(*retrace)(struct hv_instance *in);
	/* Publish guest events and filters (publish.h). */
	struct hv_err *(*events)(struct hv_instance *in);
	void (*filter)(const struct hv_instances *all, const struct hv_event_type *type);
	/* Publishes the actions of functions (commands.h). */
	struct hv_err *(*commands)(struct hv_instances *all);
};

/* The table of all parts (parts.c). To add a part, add a line to it and to enum hv_part_id. */
extern const struct hv_publisher hv_publisher;
