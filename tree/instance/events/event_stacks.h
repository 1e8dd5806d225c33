/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of guest events, for the option stacktrace and the trigger of that name. While any
 * instance wants the stacks of an event, the guest records a stack after each such event, on the
 * same vCPU. An interrupt between the two may record events with their own stacks, which are
 * complete before the stack of the interrupted event. So a stack belongs to the latest event of its
 * task that is still waiting for one:
 *
 *	event A   event B   stack of B   stack of A
 *	          `---- interrupt ----'
 *
 * Histograms with the event's stack as a key or variable count the event, and make synthetic
 * events, when the stack arrives. User stacks (user_stacks.h) are put into the buffer after it.
 * tracer/tracepoints/event_tracer.h controls recording; tracer/events/callers.h decodes stacks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ringbuf/abi.h"
#include "tracer/events/event.h"
#include "tree/settings/event_set.h"

struct hv_cursor;
struct hv_instance;
struct hv_instances;
struct hv_part;

extern const struct hv_part hv_event_stacks_part;

/* Notes which events the guest records with stacks. ALL owns RECORDED. */
void hv_event_stacks_set_recorded(struct hv_instances *all, struct hv_event_set recorded);

/* An event waiting for its stack in order to be counted. */
struct hv_kept_event {
	struct hv_kept_event *next; /* owned */
	struct hv_event event;	    /* its entry is in ENTRY; borrows nothing else */
	uint8_t entry[];
};
void hv_kept_events_free(struct hv_kept_event *kept);

/* An event that waits for its stacks. */
struct hv_stack_due {
	uint32_t pid;
	unsigned nr;		    /* number of stacks wanted */
	struct hv_record record;    /* last record of the event */
	struct hv_kept_event *kept; /* owned; oldest first */
	/* Owned: made by the host, to be put into the buffer after the stacks; oldest first. */
	struct hv_kept_event *after;
};

/* Call begin and end before and after IN processes EVENT, a guest event recorded by the guest,
 * which CURSOR returned last. In between, call hv_event_stacks_want() for each stack that IN wants,
 * and hv_event_stacks_keep() for each event (EVENT or one derived from it) that must be counted
 * together with its stack. */
void hv_event_stacks_begin(struct hv_instance *in);
void hv_event_stacks_want(struct hv_instance *in);
/* The number of stacks that IN has wanted for EVENT until now. To process a synthetic event in
 * between, whose stacks do not count, save and restore it. */
unsigned hv_event_stacks_nr_wanted(const struct hv_instance *in);
void hv_event_stacks_restore(struct hv_instance *in, unsigned nr_wanted);
void hv_event_stacks_keep(struct hv_instance *in, const struct hv_event *event);
/* Returns whether the guest records a stack after events of type ID. */
bool hv_event_stacks_are_recorded(const struct hv_instance *in, uint16_t id);
/* Keeps EVENT, made by the host from an event with a stack, until the stack arrives. */
void hv_event_stacks_put_after(struct hv_instance *in, const struct hv_event *event);
void hv_event_stacks_end(struct hv_instance *in, const struct hv_cursor *cursor,
			 const struct hv_event *event);
/* STACK arrived: removes the event that it belongs to and stores it in *RET. The caller frees both
 * lists of kept events. Returns false if it belongs to no event. */
bool hv_event_stacks_take(struct hv_instance *in, const struct hv_event *stack,
			  struct hv_stack_due *ret);
