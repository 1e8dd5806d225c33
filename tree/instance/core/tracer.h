/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tracer, that of current_tracer: one table. settings/tracer_names.h lists all of them.
 * Functions that are NULL do nothing. */
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

	/* Whether the guest of IN can have it. NULL: every guest. */
	bool (*exists)(const struct hv_instance *in, const struct hv_tracer_ops *ops);
	/* EBUSY: other instances trace in a way that excludes it in IN. */
	struct hv_err *(*check)(const struct hv_instance *in);
	/* Begins with it in IN, whose tracer is nop, and tells the session. NULL: it has begun when
	 * the session knows what IN traces. */
	struct hv_err *(*begin)(struct hv_instance *in, const struct hv_tracer_ops *ops);
	/* Ends it. The tracer is nop then. */
	struct hv_err *(*end)(struct hv_instance *in);

	/* What it needs: the stub (tracer/stubs.h) that SITE calls, whose function IN traces. */
	uint8_t (*stub_of)(const struct hv_instance *in, const struct hv_site *site);

	/* What it takes of the stream: EVENT, which CURSOR has returned, into the buffer of IN. */
	void (*take)(struct hv_instance *in, const struct hv_cursor *cursor,
		     const struct hv_event *event);
	unsigned records_calls : 1;  /* it takes the calls of functions, whatever the options */
	unsigned takes_sections : 1; /* also ends of sections, and their stacks */
	unsigned takes_each : 1;     /* calls not in brief (drain.h) */

	/* How it shows what it has taken. */
	unsigned is_graph : 1;	   /* calls and returns are a graph */
	unsigned starts_empty : 1; /* the buffer is emptied when recording is switched on */
};

/* What HV_TRACERS says of the tracer NAME: the first fields of its table. */
#define HV_TRACER_IS(name_, id_)                                                                   \
	.name = #name_, .id = HV_TRACER_##id_,                                                     \
	.measures = (enum hv_tracer_measures)HV_TRACER_MEASURES_##id_

extern const struct hv_tracer_ops hv_tracer_nop;
