/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of the guest's own that record is asked for: names and globs to words of set_event,
 * their filters, and what the service says about those that cannot be recorded. Leaves to others:
 * the grammar of set_event (tree/settings/event_word.h). */
#pragma once

#include "base/err.h"
#include "base/text.h"

struct client;

/* Adds to RET, with a blank before each but the first, the words of set_event that stand for
 * EVENTS: words with blanks between them, each SYSTEM:EVENT, SYSTEM or EVENT, with shell globs in
 * either part. What globs match goes to RET_FOUND. EINVAL: the guest has no event that a glob
 * matches. */
struct hv_err *record_events_find(struct client *c, const char *events, struct hv_text *ret,
				  struct hv_text *ret_found) hv_must_use;
/* Switches events on that globs FOUND, beside those that are on. RET_NOTES gets a line about those
 * that cannot be recorded, or not now. An error if all cannot. */
struct hv_err *record_events_switch_on(struct client *c, const char *dir, const char *found,
				       struct hv_text *ret_notes) hv_must_use;

/* Switches PAIRS on, lines of two events each, of which the second ends the first. RET_NOTES gets a
 * line for each pair of which one never can be recorded, or not now. If that is so of all,
 * *RET_NONE, which is NULL else, says why of the first. */
struct hv_err *record_pairs_switch_on(struct client *c, const char *dir, const char *pairs,
				      struct hv_err **ret_none,
				      struct hv_text *ret_notes) hv_must_use;

/* Zero-initialised is empty. */
struct record_filters {
	struct record_filter {
		const char *event; /* as given; borrowed */
		char *filter;	   /* owned */
	} * list;		   /* owned */
	size_t nr;
};

/* Adds FILTER for EVENT, which is one word of those that record_events_find() takes. Two filters of
 * the EVENT that was added last must both be true. */
void record_filters_add(struct record_filters *s, const char *event, const char *filter);
void record_filters_deinit(struct record_filters *s);
/* Writes the filters of DIR's events, and empties DIR/error_log. RET_NOTES gets a line for each
 * filter that some of its events refuse. An error if all of them do, or if there are none. */
struct hv_err *record_filters_put(const struct record_filters *s, struct client *c, const char *dir,
				  struct hv_text *ret_notes) hv_must_use;

/* Adds to RET a line for each entry of DIR/error_log: what was left out. */
struct hv_err *record_events_refused(struct client *c, const char *dir,
				     struct hv_text *ret) hv_must_use;
