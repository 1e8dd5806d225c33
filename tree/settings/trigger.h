/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One trigger of an event as it is written and shown: COMMAND[:COUNT] [if FILTER], or
 * enable_event:SYSTEM:EVENT[:COUNT] [if FILTER] (trace_events_trigger.c).
 * Leaves to others: what triggers do (tree/instance/events/triggers.h), filters (event_filter.h).
 * Pure. */
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
	bool removes;  /* it was written with a '!' */
	int64_t count; /* how often it may still act; -1: as often as it likes */
	char *system;  /* owned; of the event that it switches, or whose histograms; or NULL */
	char *event;   /* owned */
	char *filter;  /* owned; NULL: none */
};

/* Parses TEXT, which has no white space at its end. EINVAL. */
struct hv_err *hv_trigger_parse(const char *text, struct hv_trigger *ret) hv_must_use;
void hv_trigger_deinit(struct hv_trigger *t);
/* Adds the line that the file shows. */
void hv_trigger_text(const struct hv_trigger *t, struct hv_text *ret);
/* Adds the names of all commands, with a blank before each. */
void hv_trigger_names(struct hv_text *ret);

/* Whether T names another event. */
static inline bool hv_trigger_has_target(const struct hv_trigger *t)
{
	return t->command >= HV_TRIGGER_ENABLE_EVENT;
}
/* Whether T pauses histograms, or lets them go on. */
static inline bool hv_trigger_switches_hists(const struct hv_trigger *t)
{
	return t->command >= HV_TRIGGER_ENABLE_HIST;
}
/* Of triggers that are alike in this an event has only one (trigger_type). */
bool hv_trigger_is_like(const struct hv_trigger *a, const struct hv_trigger *b);
