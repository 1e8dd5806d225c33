/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hist triggers that an instance has for the guest's own events. The host counts each event
 * when it comes to the record, as it obeys other triggers (triggers.h). Triggers with one name, of
 * any instance, share their histogram. Leaves to others: how they are written
 * (tree/settings/hist_spec.h), what a histogram has (hist_table.h), the files
 * (tree/files/event_trigger.c, event.c). */
#pragma once

#include "base/err.h"
#include "tracer/events/event.h"
#include "tree/instance/hist/hist_actions.h"
#include "tree/instance/hist/hist_table.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"
#include "tree/settings/hist_spec.h"

struct hv_instance;
struct hv_part;

extern const struct hv_part hv_hists_part;

struct hv_hists {
	struct hv_hist_of {
		uint64_t serial; /* of all that ever were; not 0 */
		struct hv_event_ref ref;
		struct hv_hist_spec spec;	/* owned */
		struct hv_event_filter *filter; /* owned; NULL: none */
		struct hv_hist_table *table;	/* a reference */
		/* References; of each of SPEC's that is another's. */
		struct hv_hist_table *refs[HV_HIST_VARIABLES_MAX];
		struct hv_hist_taken *taken; /* owned; NULL: no action takes a snapshot */
		/* Those that were added for its actions: their serials; owned. */
		uint64_t *added;
		size_t nr_added;
		bool is_paused;
		bool needs_stack; /* it counts events when their stacks come */
	} * list;		  /* owned, the oldest first */
	size_t nr;
	unsigned stack_depth; /* hv_hist_stack_depth(), if there are any */
};

/* What was wrong with what was written; at most one of them has a code. */
struct hv_hist_refusal {
	struct hv_hist_faults hist; /* may have some although the trigger was taken */
	struct hv_filter_fault filter;
};

/* All histograms of all instances have at most so many bytes. */
#define HV_HISTS_BYTES_MAX (UINT64_C(256) << 20)

/* Obeys TEXT, a hist trigger (hv_hist_spec_is) that was written to the file of events of TYPE:
 * adds, changes or removes one. On error nothing has changed; RET_WHY says more if the error is of
 * what was written. EINVAL, EEXIST, ENOENT, EDOM, ENOMEM, EOPNOTSUPP; EBUSY: another trigger refers
 * to its variables, or another one takes snapshots. */
struct hv_err *hv_instance_write_hist(struct hv_instance *in, const struct hv_event_type *type,
				      const char *text,
				      struct hv_hist_refusal *ret_why) hv_must_use;
/* Removes those of REF, unless others refer to variables of one of them; NULL: all. */
struct hv_err *hv_instance_end_hists(struct hv_instance *in,
				     const struct hv_event_ref *ref) hv_must_use;

/* Whether there are any of the type ID. */
bool hv_hists_have(const struct hv_hists *s, uint32_t id);
/* Pauses those of REF, or lets them go on. */
void hv_hists_pause(struct hv_hists *s, struct hv_event_ref ref, unsigned paused);
/* Counts EVENT, an HV_EVENT_GUESTS or a marker (triggers.h), and does the actions. Lists of tasks
 * are not for markers. */
void hv_instance_count_in_hists(struct hv_instance *in, const struct hv_event *event,
				const struct hv_hist_output *out);

/* Of those that have stacks the function above only keeps EVENT (event_stacks.h); then comes STACK,
 * with its callers. What is made of EVENT then has the time of
 * STACK. */
void hv_instance_count_with_stack(struct hv_instance *in, const struct hv_event *event,
				  const struct hv_event *stack, const struct hv_hist_output *out);

/* Adds the lines of those of REF. Returns how many there are. */
size_t hv_hists_text(const struct hv_hists *s, struct hv_event_ref ref, struct hv_text *ret);
/* Adds the histograms of REF, as the file hist has them. C is the guest's catalogue. */
void hv_instance_hists_text(struct hv_instance *in, struct hv_event_ref ref,
			    const struct hv_catalogue *c, struct hv_text *ret);
