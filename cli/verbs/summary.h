/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The closing line of `hvtrace record`: the number of events, the number of lost events, and how
 * long the guest was held. The caller decides when to count. */
#pragma once

#include "cli/client.h"

struct summary {
	uint64_t held_before_ns;
	uint64_t held_ns; /* by all holds since summary_begin() */
	uint64_t nr_events;
	uint64_t nr_lost;
	uint64_t nr_patched; /* patched sites of the session while it recorded */
	uint64_t nr_refused;
	char *refused;	      /* the first refused function with the reason; owned, NULL: none */
	char *not_traced;     /* functions dropped because of --max-overhead; owned, NULL: none */
	unsigned counted;     /* summary_count() was called */
	unsigned has_section; /* the tracer kept the longest section or wait; longest_us is its
				 length */
	uint64_t longest_us;  /* 0: there was no section or wait */
	const char *longest;  /* static: "section" or "wait" */
	unsigned has_names;   /* the user selected functions: report a refused one even if there are
				 events */
	unsigned has_own;     /* the guest's own events were enabled, and they may never occur */
};

void summary_deinit(struct summary *s);

struct hv_err *summary_begin(struct summary *s, struct client *c) hv_must_use;
/* Counts the events of the instance DIR, which all were read. */
struct hv_err *summary_count(struct summary *s, struct client *c, const char *dir) hv_must_use;
struct hv_err *summary_end(struct summary *s, struct client *c) hv_must_use;
/* Returns an object with a newline (docs/schema/record.json), which the caller frees. FILE and
 * HOST_FILE may be NULL. */
char *summary_json(const struct summary *s, const char *domain, const char *file,
		   const char *host_file) hv_must_use;
/* Returns the line; the caller frees it. Without events, the line explains why. WHO describes whose
 * calls were recorded; may be empty. */
char *summary_line(const struct summary *s, const char *who) hv_must_use;
