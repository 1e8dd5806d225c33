/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a part of the instances adds to them: what it needs of the guest, and what it takes of the
 * events that the guest records. Each part defines one struct hv_part; parts.c lists them all.
 * Files below a part ask all parts by the functions of instance.h, and tell the session of changes
 * by those of struct hv_publisher, so they include neither.
 * Every function may be NULL: the part does not have it. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "tree/settings/event_set.h"

struct hv_catalogue;
struct hv_event;
struct hv_event_type;
struct hv_instance;
struct hv_instances;

struct hv_part {
	/* What belongs to one instance, and to all. */
	void (*init)(struct hv_instance *in);
	void (*deinit)(struct hv_instance *in);
	void (*init_all)(struct hv_instances *all);
	void (*deinit_all)(struct hv_instances *all);

	/* -- what it needs of the guest -- */

	/* Whether the host acts on events of the guest's own for IN: the guest records these
	 * whatever tracing_on says. */
	bool (*acts)(const struct hv_instance *in);
	/* Whether it does on REF: by a trigger, a histogram, or a command of a function. */
	bool (*acts_on)(const struct hv_instance *in, struct hv_event_ref ref);
	/* Whether events that IN needs are made of REF. */
	bool (*probes)(const struct hv_instance *in, struct hv_event_ref ref);
	/* Whether IN follows tasks by TYPE, which no file shows. */
	bool (*follows)(const struct hv_instance *in, const struct hv_event_type *type);
	bool (*wants_stacks)(const struct hv_instance *in, struct hv_event_ref ref);
	/* Whether functions of IN's filter call stubs. */
	bool (*calls_stubs)(const struct hv_instance *in);
	/* Whether SET has an event that the host makes. */
	bool (*makes_any)(const struct hv_instances *all, const struct hv_event_set *set);
	/* Whether the host must take events out of the guest's rings. */
	bool (*takes_rings)(const struct hv_instances *all);

	/* -- what it takes of the stream -- */

	/* Events were lost before EVENT, which comes to IN next. */
	void (*lose)(struct hv_instance *in, const struct hv_event *event);
	/* What the guest had recorded was taken. */
	void (*drained)(struct hv_instances *all);
	/* IN's buffer is the guest's rings again. */
	void (*returns_rings)(struct hv_instance *in);

	/* -- events that go -- */

	/* Forgets what is of types that C, as it is now, does not have. */
	void (*forget_gone)(struct hv_instance *in, const struct hv_catalogue *c);
	/* Forgets what acts on REF. */
	void (*forget)(struct hv_instance *in, struct hv_event_ref ref);
};

/* The parts, and who tells the session what all of them need. */
struct hv_publisher {
	const struct hv_part *const *parts; /* ends in NULL */
	/* The sites, tasks and commands of IN's tracer (trace.h). */
	struct hv_err *(*retrace)(struct hv_instance *in);
	/* The guest's own events (publish.h). */
	struct hv_err *(*events)(struct hv_instance *in);
	void (*filter)(const struct hv_instances *all, const struct hv_event_type *type);
	/* What functions do when they are called (commands.h). */
	struct hv_err *(*commands)(struct hv_instances *all);
};
