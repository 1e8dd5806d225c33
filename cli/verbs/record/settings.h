/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of a recording: tracer, functions, events with filters, probes, tasks. Also applies
 * them to an instance: turns globs into words of set_event, defines probes in kprobe_events, and
 * adds a note for each thing that cannot be recorded. If record is killed, its probes stay defined
 * but nothing is recorded. request.h parses the options, recording.h handles the instance, file.h
 * the events; tree/settings/event_set.h and tree/settings/kprobe.h define the grammars of
 * set_event and of probes. */
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

/* Zero-initialised is empty. The char pointers are borrowed. */
struct record_settings {
	const char *tracer;    /* NULL: none */
	bool tells_host;       /* record for how long of a call the host did not run the vCPU */
	struct hv_text filter; /* globs, with a blank before each except the first */
	struct hv_text notrace;
	struct hv_text graph;
	struct hv_text events; /* words, with a blank before each except the first */
	struct hv_text probes; /* definitions, one per line */
	const char *event;     /* the last one added */
	struct hv_text pairs;  /* lines: an event and the event that ends it */
	struct record_filters event_filters;
	struct hv_text pids;
};

void record_settings_deinit(struct record_settings *s);

/* Returns false if TEXT is not a pid. */
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

/* Applies the settings to the instance of R, which is not recording. RET_PROBED gets the events of
 * the defined probes, even if an error follows, because they outlive the instance. RET_NOTES gets a
 * line for each thing left out. */
struct hv_err *record_settings_put(const struct record_settings *s, const struct recording *r,
				   struct hv_text *ret_probed,
				   struct hv_text *ret_notes) hv_must_use;

/* Adds FILTER for EVENT, which is SYSTEM:EVENT, SYSTEM or EVENT, with shell globs. Two filters of
 * the last added EVENT must both be true. */
void record_filters_add(struct record_filters *s, const char *event, const char *filter);

/* Adds to RET a line for each entry of DIR/error_log: the things left out. */
struct hv_err *record_events_refused(struct client *c, const char *dir,
				     struct hv_text *ret) hv_must_use;

/* The probe for marks (tracer/events/guest_marks.h). All commands that record marks share it: the
 * first defines it, and the last removes it. */
#define RECORD_PROBES_MARK "p:hvtrace/mark security_task_prctl text=$mark"

/* Removes the probes of EVENTS, as named by record_settings_put(). They must no longer be
 * recorded. */
struct hv_err *record_probes_remove(struct client *c, const char *events) hv_must_use;
