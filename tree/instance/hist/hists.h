/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hist triggers of an instance. The host counts each event when it reads its record, as for
 * other triggers (triggers.h). Triggers with the same name, in any instance, share one histogram.
 * tree/settings/hist/hist_spec.h parses triggers, hist_table.h stores a histogram,
 * tree/files/event.c has the files. */
#pragma once

#include "base/err.h"
#include "tracer/events/event.h"
#include "tree/settings/event_filter.h"
#include "tree/settings/event_set.h"
#include "tree/settings/hist/hist_field.h"

struct hv_instance;
struct hv_part;

extern const struct hv_part hv_hists_part;

/* Errors in a written trigger. At most one of the two has a code. */
struct hv_hist_refusal {
	struct hv_hist_faults hist; /* may contain messages even on success */
	struct hv_filter_fault filter;
};

/* Receives the synthetic events that actions make. */
struct hv_hist_output {
	void *ctx;
	void (*take)(void *ctx, const struct hv_event *event); /* borrowed during the call */
};

/* Limit for all histograms of all instances. */
#define HV_HISTS_BYTES_MAX (UINT64_C(256) << 20)

/* Adds, changes or removes the hist trigger TEXT (hv_hist_spec_is), which was written to the
 * trigger file of TYPE. On error nothing changes, and RET_WHY has details if TEXT is wrong. EINVAL,
 * EEXIST, ENOENT, EDOM, ENOMEM, EOPNOTSUPP; EBUSY: another trigger refers to its variables, or
 * another one takes snapshots. */
struct hv_err *hv_instance_write_hist(struct hv_instance *in, const struct hv_event_type *type,
				      const char *text,
				      struct hv_hist_refusal *ret_why) hv_must_use;
/* Removes the triggers of REF, or none of them if another trigger refers to a variable of one. REF
 * NULL: removes all triggers. */
struct hv_err *hv_instance_end_hists(struct hv_instance *in,
				     const struct hv_event_ref *ref) hv_must_use;

bool hv_hists_have_any(const struct hv_instance *in);
/* Returns whether IN has triggers for events of type ID. */
bool hv_hists_have(const struct hv_instance *in, uint32_t id);
/* Pauses or resumes the triggers of REF. */
void hv_hists_pause(struct hv_instance *in, struct hv_event_ref ref, unsigned paused);
/* Counts EVENT, an HV_EVENT_GUESTS or a marker (triggers.h), and executes the actions. Task lists
 * do not apply to markers. */
void hv_instance_count_in_hists(struct hv_instance *in, const struct hv_event *event,
				const struct hv_hist_output *out);

/* For triggers that need stacks, the function above only keeps EVENT (event_stacks.h). This
 * function counts it when STACK, with its callers, has arrived. Derived events have the time of
 * STACK. */
void hv_instance_count_with_stack(struct hv_instance *in, const struct hv_event *event,
				  const struct hv_event *stack, const struct hv_hist_output *out);

/* Adds the lines of the triggers of REF. Returns their number. */
size_t hv_hists_text(const struct hv_instance *in, struct hv_event_ref ref, struct hv_text *ret);
/* Adds the histograms of REF, as in the file hist. C is the guest's catalogue. */
void hv_instance_hists_text(struct hv_instance *in, struct hv_event_ref ref,
			    const struct hv_catalogue *c, struct hv_text *ret);
