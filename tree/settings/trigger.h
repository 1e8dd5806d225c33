/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text form of an event trigger: COMMAND[:COUNT] [if FILTER], or
 * enable_event:SYSTEM:EVENT[:COUNT] [if FILTER] (trace_events_trigger.c).
 * tree/instance/triggers/triggers.h executes triggers; event_filter.h handles filters. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text.h"

enum hv_trigger_command {
	HV_TRIGGER_TRACEON,
	HV_TRIGGER_TRACEOFF,
	HV_TRIGGER_SNAPSHOT,
	HV_TRIGGER_STACKTRACE,
	HV_TRIGGER_ENABLE_EVENT,
	HV_TRIGGER_DISABLE_EVENT,
	HV_TRIGGER_ENABLE_HIST,
	HV_TRIGGER_DISABLE_HIST,
};
#define HV_NR_TRIGGER_COMMANDS 8

struct hv_trigger {
	enum hv_trigger_command command;
	bool removes;  /* written with a '!' */
	int64_t count; /* remaining count; -1: unlimited */
	char *system;  /* owned; the event to switch, or whose histograms to switch; may be NULL */
	char *event;   /* owned */
	char *filter;  /* owned; may be NULL */
};

/* Parses TEXT, which must not end with white space. EINVAL. */
struct hv_err *hv_trigger_parse(const char *text, struct hv_trigger *ret) hv_must_use;
void hv_trigger_deinit(struct hv_trigger *t);
/* Adds the trigger's line in the file. */
void hv_trigger_text(const struct hv_trigger *t, struct hv_text *ret);
/* Adds the names of all commands, each after a blank. */
void hv_trigger_names(struct hv_text *ret);

/* Returns whether T names another event. */
static inline bool hv_trigger_has_target(const struct hv_trigger *t)
{
	return t->command >= HV_TRIGGER_ENABLE_EVENT;
}
/* Returns whether T pauses or resumes histograms. */
static inline bool hv_trigger_switches_hists(const struct hv_trigger *t)
{
	return t->command >= HV_TRIGGER_ENABLE_HIST;
}
/* Returns whether A and B are of the same type. An event may have only one trigger of each type
 * (trigger_type). */
bool hv_trigger_is_like(const struct hv_trigger *a, const struct hv_trigger *b);
