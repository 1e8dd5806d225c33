/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The closing line of `hvtrace record`: how many events there were, how many were lost, and for how
 * long the guest was held.
 * Leaves to others: when to count. */
#pragma once

#include "cli/client.h"

struct summary {
	uint64_t held_before_ns;
	uint64_t held_ns; /* by all that was done to the guest since then */
	uint64_t nr_events;
	uint64_t nr_lost;
	uint64_t nr_patched; /* sites of the session, while it recorded */
	uint64_t nr_refused;
	char *refused;	      /* the first of these, with the reason; owned, NULL: none */
	char *not_traced;     /* functions, because of --max-overhead; owned, NULL: none */
	unsigned counted;     /* summary_count() has counted */
	unsigned has_section; /* the longest section or wait was kept, which took: */
	uint64_t longest_us;  /* 0: there was none */
	const char *longest;  /* static: "section" or "wait" */
	unsigned has_names; /* who records has named functions: those that were refused are, too */
	unsigned has_own;   /* events of the guest's own were on, which may not happen at all */
};

void summary_deinit(struct summary *s);

struct hv_err *summary_begin(struct summary *s, struct client *c) hv_must_use;
/* Counts the events of the instance DIR, all of which were read. */
struct hv_err *summary_count(struct summary *s, struct client *c, const char *dir) hv_must_use;
struct hv_err *summary_end(struct summary *s, struct client *c) hv_must_use;
/* Returns an object with a newline (docs/schema/record.json), which the caller frees. FILE and
 * HOST_FILE may be NULL. */
char *summary_json(const struct summary *s, const char *domain, const char *file,
		   const char *host_file) hv_must_use;
/* Returns the line; the caller frees it. If there were no events it says why. WHO is empty, or says
 * whose calls were recorded. */
char *summary_line(const struct summary *s, const char *who) hv_must_use;
