/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks of the guest's own events: the option stacktrace, and the trigger of that name. While any
 * instance wants the stacks of an event, the guest records one behind each, on the same vCPU. An
 * interrupt in between may record events with stacks of its own, which are complete before the
 * stack of the interrupted one comes. So a stack is that of the last event of its task that has
 * none yet:
 *
 *	event A   event B   stack of B   stack of A
 *	          `---- interrupt ----'
 *
 * Histograms that have the stack of the event as a key or a variable count the event when the stack
 * comes, and make synthetic events then.
 * Leaves to others: recording them (tracer/event_tracer.h), who the callers are
 * (tracer/events/callers.h). */
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

/* So many interrupts one in the other, and NMIs, do not happen. */
#define HV_STACKS_DUE_MAX 8

/* An event that waits for its stack, to be counted with it. */
struct hv_kept_event {
	struct hv_kept_event *next; /* owned */
	struct hv_event event;	    /* its entry is in ENTRY, and it borrows nothing else */
	uint8_t entry[];
};
void hv_kept_events_free(struct hv_kept_event *kept);

/* What an instance has to do with stacks. */
struct hv_stacks_due;
struct hv_event_stacks {
	unsigned nr_wanted;	    /* of the event that is being taken */
	struct hv_kept_event *kept; /* owned: likewise what waits for its stack */
	struct hv_stacks_due *due;  /* owned, one per vCPU */
};

/* The events of one vCPU whose stacks have not come yet, the oldest first. */
struct hv_stacks_due {
	struct hv_stack_due {
		uint32_t pid;
		unsigned nr;		    /* how often the instance wants the stack */
		struct hv_record record;    /* the last one of the event */
		struct hv_kept_event *kept; /* owned; the oldest first */
	} list[HV_STACKS_DUE_MAX];
	unsigned nr;
};

/* To be called before and after IN takes EVENT, one of the guest's own that the guest has recorded,
 * which CURSOR returned last. In between hv_event_stacks_want() is called once for each stack that
 * IN wants with it, and hv_event_stacks_keep() for each EVENT, that one or what is made of it, that
 * is to be counted with its stack. */
void hv_event_stacks_begin(struct hv_instance *in);
void hv_event_stacks_want(struct hv_instance *in);
void hv_event_stacks_keep(struct hv_instance *in, const struct hv_event *event);
void hv_event_stacks_end(struct hv_instance *in, const struct hv_cursor *cursor,
			 const struct hv_event *event);
/* STACK has come: that of *RET, whose kept events the caller frees. False: of none. */
bool hv_event_stacks_take(struct hv_instance *in, const struct hv_event *stack,
			  struct hv_stack_due *ret);
