/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What record is asked to trace, and the instance that has these settings. It goes with the
 * connection, so the service puts them back whatever ends record, and they meet nobody else's.
 * Leaves to others: the words of options, where events go (record.c). */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"
#include "cli/verbs/record/events.h"

struct client;

/* Zero-initialised is empty. Strings that are not texts are borrowed. */
struct record_settings {
	const char *tracer;    /* NULL: none */
	bool tells_host;       /* for how long of a call the host did not run the vCPU */
	struct hv_text filter; /* globs, with a blank before each but the first */
	struct hv_text notrace;
	struct hv_text graph;
	struct hv_text events; /* likewise */
	struct hv_text probes; /* definitions, one a line */
	struct hv_text probed; /* the events of those that were defined */
	const char *event;     /* the last one that was added */
	const char *pairs;     /* lines: an event and the one that ends it; NULL: none */
	struct record_filters event_filters;
	struct hv_text pids;
	char *dir; /* owned; of its instance; NULL: nothing was set yet */
};

void record_settings_deinit(struct record_settings *s);

/* Returns false if TEXT is no pid. */
bool record_settings_add_pid(struct record_settings *s, const char *text);
/* GLOBS is one of the settings. */
void record_settings_add_glob(struct hv_text *globs, const char *glob);
void record_settings_add_event(struct record_settings *s, const char *event);
void record_settings_add_probe(struct record_settings *s, const char *line);

/* Returns whether there are events or probes. */
static inline bool record_settings_have_events(const struct record_settings *s)
{
	return s->events.len_bytes || s->probes.len_bytes || s->pairs;
}

/* Makes the instance and sets everything but tracing_on, which is off. RET_NOTES gets a line for
 * each thing that was left out. */
struct hv_err *record_settings_put(struct record_settings *s, struct client *c,
				   struct hv_text *ret_notes) hv_must_use;
/* Writes TEXT into FILE of the instance. NULL: truncates it. */
struct hv_err *record_settings_set(const struct record_settings *s, struct client *c,
				   const char *file, const char *text) hv_must_use;
/* Removes the instance and the probes. */
struct hv_err *record_settings_restore(const struct record_settings *s,
				       struct client *c) hv_must_use;
