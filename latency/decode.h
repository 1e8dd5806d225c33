/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Trace events of the guest to moments: which events are wanted, and what their fields mean. The
 * formats are the guest's; an event that lacks a field is left out.
 * Leaves to others: the pages (export/page_decode.h). Pure. */
#pragma once

#include "export/page_decode.h"
#include "latency/event.h"

#define HV_WANTED_FIELDS 9
#define HV_WANTED_HOST	 "host" /* the system of events of the host */

struct hv_wanted_event {
	const char *system, *name;
	enum hv_moment_kind kind;
	const char *fields[HV_WANTED_FIELDS]; /* by enum in decode.c; NULL: none */
	const char *stack; /* the trigger that records a stack with it; NULL: none */
};

static inline bool hv_wanted_event_is_hosts(const struct hv_wanted_event *w)
{
	return hv_moment_is_hosts(w->kind);
}

extern const struct hv_wanted_event hv_wanted_events[];
extern const size_t hv_nr_wanted_events;

struct hv_moments {
	const struct hv_page_decode *decode; /* borrowed */
	uint8_t *by_id; /* owned; for 65536 ids, the number in hv_wanted_events plus 1 */
	const struct hv_event_field *(*fields)[HV_WANTED_FIELDS]; /* owned */
};

/* D has read the formats, and stays where it is. */
void hv_moments_init(struct hv_moments *m, const struct hv_page_decode *d);
void hv_moments_deinit(struct hv_moments *m);
/* Makes a moment of an event of the guest's own. False: it is none that is wanted, or it is too
 * short for its format. */
bool hv_moments_decode(const struct hv_moments *m, const struct hv_event *e, struct hv_moment *ret);
