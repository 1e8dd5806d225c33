/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations of a tracer. settings/tracer_names.h lists all tracers. Functions may be NULL. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "tree/settings/tracer_names.h"

struct hv_cursor;
struct hv_event;
struct hv_instance;
struct hv_site;

struct hv_tracer_ops {
	const char *name;
	enum hv_tracer id; /* its right is 1u << ID */
	enum hv_tracer_measures measures;

	/* Returns whether the guest of IN supports the tracer. NULL: always. */
	bool (*exists)(const struct hv_instance *in, const struct hv_tracer_ops *ops);
	/* EBUSY: the way in which other instances trace excludes this tracer in IN. */
	struct hv_err *(*check)(const struct hv_instance *in);
	/* Starts it in IN, whose tracer is nop, and informs the session. NULL: publishing IN's
	 * selection is enough. */
	struct hv_err *(*begin)(struct hv_instance *in, const struct hv_tracer_ops *ops);
	/* Stops it. The tracer is nop afterwards. */
	struct hv_err *(*end)(struct hv_instance *in);

	/* Returns the trampoline (tracer/guest/trampolines.h) for SITE, a function that IN
	 * traces. */
	uint8_t (*trampoline_of)(const struct hv_instance *in, const struct hv_site *site);

	/* Handles EVENT, returned by CURSOR, and stores it in IN's buffer. */
	void (*take)(struct hv_instance *in, const struct hv_cursor *cursor,
		     const struct hv_event *event);
	unsigned records_calls : 1;  /* takes function calls, regardless of options */
	unsigned takes_sections : 1; /* also takes section ends and their stacks */
	unsigned takes_each : 1;     /* does not take calls in brief form (drain.h) */

	/* How it shows its events. */
	unsigned is_graph : 1;	   /* shows calls and returns as a graph */
	unsigned starts_empty : 1; /* enabling recording clears the buffer */
};

/* The first fields of the table of tracer NAME, from HV_TRACERS. */
#define HV_TRACER_IS(name_, id_)                                                                   \
	.name = #name_, .id = HV_TRACER_##id_,                                                     \
	.measures = (enum hv_tracer_measures)HV_TRACER_MEASURES_##id_

extern const struct hv_tracer_ops hv_tracer_nop;

/* The operations of TRACER. */
const struct hv_tracer_ops *hv_tracer_ops(enum hv_tracer tracer);
/* Returns a mask of the tracers, 1u << TRACER, that the guest of IN does not support. */
unsigned hv_tracers_missing(const struct hv_instance *in);
