/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Measures the time from one of the guest's events to the event that ends it: of an interrupt
 * handler, a block request, a system call, a wait.
 *
 * Some pairs are in a table. The others are found by the suffixes of their names:
 *
 *   NAME_entry, NAME_exit    NAME_enter, NAME_exit
 *   NAME_begin, NAME_end     NAME_start, NAME_end
 *
 * Two events match if their key fields are equal, such as the device and the sector of a request.
 * Unless another task can end the pair, they must also belong to the same task (the same vCPU if it
 * is idle). The table of begin events is bounded: in a full hash bucket the oldest is replaced.
 *
 * histogram.c counts the durations. Pure. */
#pragma once

#include "base/text.h"
#include "export/page_decode.h"

#define HV_EVENT_PAIRS_MAX	256
#define HV_EVENT_PAIRS_ENDS_MAX 4     /* maximum number of pairs that one event ends */
#define HV_EVENT_PAIRS_OPEN_MAX 16384 /* begin events without an end; a power of two */

/* Adds to RET the name of the event of SYSTEM that ends NAME. Both may be shell globs. Returns
 * false if there is no such event. */
bool hv_event_pair_end(const char *system, const char *name, struct hv_text *ret);

struct hv_event_pair {
	const struct hv_event_type *begin, *end;		  /* borrowed from the catalogue */
	const struct hv_event_field *begin_keys[2], *end_keys[2]; /* NULL: no key */
	const struct hv_event_field *of; /* field of BEGIN that groups durations; or NULL */
	bool is_anybodys;		 /* another task can end it */
};

/* A completed duration. */
struct hv_event_duration {
	const struct hv_event_pair *pair; /* borrowed */
	uint64_t of;			  /* value of the pair's field OF */
	uint64_t passed;		  /* in units of the clock */
};

struct hv_event_begun {
	bool is_used;
	uint16_t pair;
	uint64_t owner; /* a task, an idle vCPU, or ALL_CPUS */
	uint64_t keys[2], of, time;
};

struct hv_event_pairs {
	const struct hv_catalogue *catalogue; /* borrowed */
	struct hv_event_pair list[HV_EVENT_PAIRS_MAX];
	size_t nr;
	struct hv_event_begun *begun; /* owned; NULL if there are no pairs */
};

/* Finds the pairs in C that have both events. */
void hv_event_pairs_init(struct hv_event_pairs *p, const struct hv_catalogue *c);
void hv_event_pairs_deinit(struct hv_event_pairs *p);
/* Processes the trace event E. Call it in order of time. Stores the durations that E ends, at most
 * HV_EVENT_PAIRS_ENDS_MAX, and returns their number. */
unsigned hv_event_pairs_see(struct hv_event_pairs *p, const struct hv_event *e,
			    struct hv_event_duration *ret);
/* Events were lost: forgets all begin events, because their ends may be lost. */
void hv_event_pairs_lose(struct hv_event_pairs *p);
