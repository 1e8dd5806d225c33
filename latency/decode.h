/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes trace events of the guest and the host into struct hv_moment. Defines the events that
 * the analysers need and the fields that they use.
 *
 * The guest supplies the event formats; events that lack a field are skipped. export/page_decode.h
 * decodes the pages. Pure. */
#pragma once

#include "export/page_decode.h"
#include "latency/event.h"

#define HV_WANTED_FIELDS 9
#define HV_WANTED_HOST	 "host" /* the system of the host's events */

struct hv_wanted_event {
	const char *system, *name;
	enum hv_moment_kind kind;
	const char *fields[HV_WANTED_FIELDS]; /* indexed by the enum in decode.c; NULL: unused */
	const char *stack; /* trigger that records a stack with the event, or NULL */
};

static inline bool hv_wanted_event_is_hosts(const struct hv_wanted_event *w)
{
	return hv_moment_is_hosts(w->kind);
}

extern const struct hv_wanted_event hv_wanted_events[];
extern const size_t hv_nr_wanted_events;

struct hv_moments {
	const struct hv_page_decode *decode; /* borrowed */
	uint8_t *by_id; /* owned; by event id (65536): index in hv_wanted_events plus 1 */
	const struct hv_event_field *(*fields)[HV_WANTED_FIELDS]; /* owned */
};

/* D must have read the formats, and must not move. */
void hv_moments_init(struct hv_moments *m, const struct hv_page_decode *d);
void hv_moments_deinit(struct hv_moments *m);
/* Decodes E. Returns false if it is not a wanted event, or is shorter than its format. */
bool hv_moments_decode(const struct hv_moments *m, const struct hv_event *e, struct hv_moment *ret);
