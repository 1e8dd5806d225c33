/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long it takes from one of the guest's events to the one that ends it: an interrupt's handler
 * from its entry to its exit, a request from its issue to its completion, a system call, a wait.
 * Which event ends which is known for some by their names, and for all whose names end alike:
 *
 *	NAME_entry, NAME_exit    NAME_enter, NAME_exit    NAME_begin, NAME_end    NAME_start,
 *NAME_end
 *
 * Two events belong together if they are of the same task (if it is idle, of the same vCPU), or
 * agree in the fields that say what they are about, as device and sector of a request. The table of
 * those that have begun is bounded: of too many, the oldest in its place is forgotten.
 * Leaves to others: counting (histogram.c). Pure. */
#pragma once

#include "base/text.h"
#include "export/page_decode.h"

#define HV_EVENT_PAIRS_MAX	256
#define HV_EVENT_PAIRS_ENDS_MAX 4     /* pairs that one event can end */
#define HV_EVENT_PAIRS_OPEN_MAX 16384 /* that have begun; a power of two */

/* Adds to RET the name of the event of SYSTEM that ends NAME. Both may be globs of the shell.
 * False: nothing is known to end it. */
bool hv_event_pair_end(const char *system, const char *name, struct hv_text *ret);

struct hv_event_pair {
	const struct hv_event_type *begin, *end;		  /* borrowed from the catalogue */
	const struct hv_event_field *begin_keys[2], *end_keys[2]; /* NULL: none */
	const struct hv_event_field *of; /* of BEGIN: by which durations are told apart; or NULL */
	bool is_anybodys;		 /* whoever ends it */
};

/* A duration that has ended. */
struct hv_event_duration {
	const struct hv_event_pair *pair; /* borrowed */
	uint64_t of;			  /* the value of its field OF */
	uint64_t passed;		  /* in units of the clock */
};

struct hv_event_begun {
	bool is_used;
	uint16_t pair;
	uint64_t owner; /* a task, a vCPU, or nobody */
	uint64_t keys[2], of, time;
};

struct hv_event_pairs {
	const struct hv_catalogue *catalogue; /* borrowed */
	struct hv_event_pair list[HV_EVENT_PAIRS_MAX];
	size_t nr;
	struct hv_event_begun *begun; /* owned; NULL: there are no pairs */
};

/* The pairs of which C has both events. */
void hv_event_pairs_init(struct hv_event_pairs *p, const struct hv_catalogue *c);
void hv_event_pairs_deinit(struct hv_event_pairs *p);
/* Events come in the order of their times. Returns how many durations E, one of the guest's own,
 * ends: at most HV_EVENT_PAIRS_ENDS_MAX. */
unsigned hv_event_pairs_see(struct hv_event_pairs *p, const struct hv_event *e,
			    struct hv_event_duration *ret);
/* Events were lost: what has begun may have ended. */
void hv_event_pairs_lose(struct hv_event_pairs *p);
