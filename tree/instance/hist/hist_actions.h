/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hit of a hist trigger: it is counted if all variables of other triggers to which this one
 * refers are set, and then its actions are done (event_hist_trigger).
 * Leaves to others: which triggers there are (hists.h), what actions are (tree/settings/
 * hist_action.h). */
#pragma once

#include "tracer/events/event.h"
#include "tree/format/hist_text.h"
#include "tree/instance/hist/hist_table.h"

struct hv_hist_of;
struct hv_instance;

/* Who takes the synthetic events that actions make. */
struct hv_hist_output {
	void *ctx;
	void (*take)(void *ctx,
		     const struct hv_event *event); /* borrowed for the time of the call */
};

/* The snapshot that an action has made. */
struct hv_hist_taken {
	const struct hv_hist_action *action; /* NULL: none yet */
	uint64_t value;
	uint8_t key[HV_HIST_KEY_BYTES_MAX];
	char comm[16];
};

/* Counts EVENT, which OF is for. TIME is what common_timestamp is. STACK as that of a record; NULL:
 * OF needs none. */
void hv_hist_hit(struct hv_instance *in, struct hv_hist_of *of, const struct hv_event *event,
		 uint64_t time, const uint64_t *stack, const struct hv_hist_output *out);
