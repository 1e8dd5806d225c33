/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hist trigger, and what it does at a hit: if all referenced variables of other triggers are set,
 * it counts the event and executes the actions (event_hist_trigger). hists.h keeps the triggers,
 * tree/settings/hist/hist_spec.h parses them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracer/events/event.h"
#include "tree/instance/hist/hist_table.h"
#include "tree/instance/hist/hists.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"
#include "tree/settings/hist/hist_spec.h"

struct hv_instance;

/* The snapshot that an action took. */
struct hv_hist_taken {
	const struct hv_hist_action *action; /* NULL: no snapshot yet */
	uint64_t value;
	uint8_t key[HV_HIST_KEY_BYTES_MAX];
	char comm[16];
};

/* A hist trigger. */
struct hv_hist_trigger {
	uint64_t serial; /* unique among all triggers ever created; nonzero */
	struct hv_event_ref ref;
	struct hv_hist_spec spec;	/* owned */
	struct hv_event_filter *filter; /* owned; may be NULL */
	struct hv_hist_table *table;	/* owns a reference */
	/* One reference for each of SPEC's references to another trigger. */
	struct hv_hist_table *refs[HV_HIST_VARIABLES_MAX];
	struct hv_hist_taken *taken; /* owned; NULL: no action takes a snapshot */
	/* Serials of the triggers added for its actions; owned. */
	uint64_t *added;
	size_t nr_added;
	bool is_paused;
	bool needs_stack; /* counts events when their stacks arrive */
	bool needs_user_stack;
};

/* Counts EVENT for OF, a trigger of IN. TIME is the value of common_timestamp. STACK is as in struct
 * hv_hist_record; NULL if OF needs none. */
void hv_hist_trigger_count(struct hv_instance *in, struct hv_hist_trigger *of,
			   const struct hv_event *event, uint64_t time, const uint64_t *stack,
			   const struct hv_hist_output *out);
