/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a request asks to record: tracer, functions, events with filters, probes, tasks; and how an
 * instance gets these settings: globs become words of set_event, probes are defined in
 * kprobe_events, and a note says what cannot be recorded. If record is killed, its probes stay
 * defined; nothing is recorded then. Leaves to others: the options (request.h), the instance
 * (recording.h), where events go (file.h), the grammar of set_event (tree/settings/event_word.h)
 * and of probes (tree/settings/kprobe.h). */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/text.h"

struct recording;
struct client;

/* Zero-initialised is empty. */
struct record_filters {
	struct record_filter {
		const char *event; /* as given; borrowed */
		char *filter;	   /* owned */
	} * list;		   /* owned */
	size_t nr;
};

/* Zero-initialised is empty. Strings that are not texts are borrowed. */
struct record_settings {
	const char *tracer;    /* NULL: none */
	bool tells_host;       /* for how long of a call the host did not run the vCPU */
	struct hv_text filter; /* globs, with a blank before each but the first */
	struct hv_text notrace;
	struct hv_text graph;
	struct hv_text events; /* likewise */
	struct hv_text probes; /* definitions, one a line */
	const char *event;     /* the last one that was added */
	struct hv_text pairs;  /* lines: an event and the one that ends it */
	struct record_filters event_filters;
	struct hv_text pids;
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
	return s->events.len_bytes || s->probes.len_bytes || s->pairs.len_bytes;
}

/* Gives the instance of R, which is not recording, these settings. RET_PROBED gets the events of
 * the probes that were defined, also if an error follows: they outlive the instance. RET_NOTES gets
 * a line for each thing that was left out. */
struct hv_err *record_settings_put(const struct record_settings *s, const struct recording *r,
				   struct hv_text *ret_probed,
				   struct hv_text *ret_notes) hv_must_use;

/* Adds FILTER for EVENT, which is SYSTEM:EVENT, SYSTEM or EVENT, with shell globs. Two filters of
 * the EVENT that was added last must both be true. */
void record_filters_add(struct record_filters *s, const char *event, const char *filter);

/* Adds to RET a line for each entry of DIR/error_log: what was left out. */
struct hv_err *record_events_refused(struct client *c, const char *dir,
				     struct hv_text *ret) hv_must_use;

/* The probe of marks (tracer/events/guest_marks.h). All who record marks share it: the first
 * defines it, and the last removes it. */
#define RECORD_PROBES_MARK "p:hvtrace/mark security_task_prctl text=$mark"

/* Removes the probes of EVENTS, as record_settings_put() has named them. Nothing may record them
 * any more. */
struct hv_err *record_probes_remove(struct client *c, const char *events) hv_must_use;
