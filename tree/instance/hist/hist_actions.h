/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes a hit of a hist trigger: if all referenced variables of other triggers are set, counts
 * it and executes the actions (event_hist_trigger). hists.h has the triggers;
 * tree/settings/hist/hist_action.h parses actions. */
#pragma once

#include "tracer/events/event.h"
#include "tree/format/hist_text.h"
#include "tree/instance/hist/hist_table.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"
#include "tree/settings/hist/hist_spec.h"

struct hv_instance;

/* Receives the synthetic events that actions make. */
struct hv_hist_output {
	void *ctx;
	void (*take)(void *ctx, const struct hv_event *event); /* borrowed during the call */
};

/* The snapshot that an action took. */
struct hv_hist_taken {
	const struct hv_hist_action *action; /* NULL: no snapshot yet */
	uint64_t value;
	uint8_t key[HV_HIST_KEY_BYTES_MAX];
	char comm[16];
};

/* A hist trigger. */
struct hv_hist_of {
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
};

/* Counts EVENT for OF. TIME is the value of common_timestamp. STACK is as in struct hv_hist_record;
 * NULL if OF needs none. */
void hv_hist_hit(struct hv_instance *in, struct hv_hist_of *of, const struct hv_event *event,
		 uint64_t time, const uint64_t *stack, const struct hv_hist_output *out);
