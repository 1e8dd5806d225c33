/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of functions, FUNC:COMMAND[:COUNT] in set_ftrace_filter: which function has which
 * command, and how often it may still act (ftrace_func_probe, register_ftrace_function_probe).
 * A function may have the same command twice, with a count and without one.
 * Leaves to others: what a command does (tracer/actions.h, instance/obey.h), the file
 * (files/filter.c). */
#pragma once

#include "base/text.h"
#include "kernel/sites.h"
#include "tree/settings/event_set.h"
#include "tree/settings/rights.h"

enum hv_probe_command {
	HV_PROBE_TRACEON,
	HV_PROBE_TRACEOFF,
	HV_PROBE_STACKTRACE,
	HV_PROBE_SNAPSHOT,
	HV_PROBE_DUMP,	  /* its count is always 1 */
	HV_PROBE_CPUDUMP, /* likewise, but shown without a count, as the kernel does */
	HV_PROBE_ENABLE_EVENT,
	HV_PROBE_DISABLE_EVENT,
	HV_NR_PROBE_COMMANDS
};

struct hv_probe {
	uint64_t ip;
	int64_t count; /* if its set is counted: how often it may still act; 0 or less: never */
	struct hv_event_ref event; /* hv_probe_command_has_event(): what it switches */
};

struct hv_probe_set {
	enum hv_probe_command command;
	unsigned counted;
	struct hv_probe *list; /* owned, ascending by ip, without duplicates; never empty */
	size_t nr;
};

/* Zero-initialised is empty. */
struct hv_probes {
	struct hv_probe_set sets[2 * HV_NR_PROBE_COMMANDS]; /* the newest first */
	size_t nr;
};

/* Returns the probe of SET for the function at IP; NULL if SET has none. */
struct hv_probe *hv_probes_find(const struct hv_probe_set *set, uint64_t ip);

bool hv_probes_have(const struct hv_probes *p, enum hv_probe_command command);
/* Returns whether any command of P switches an event. */
bool hv_probes_have_events(const struct hv_probes *p);
void hv_probes_deinit(struct hv_probes *p);
struct hv_probes hv_probes_dup(const struct hv_probes *p);

/* Removes SET of P, with its probes. */
void hv_probes_drop(struct hv_probes *p, struct hv_probe_set *set);

/* Returns whether COMMAND switches an event, which follows it: FUNC:COMMAND:SYSTEM:EVENT[:COUNT].
 */
bool hv_probe_command_has_event(enum hv_probe_command command);
/* The rights that COMMAND needs beside those of its file, to be added and to be removed. */
uint32_t hv_probe_command_need(enum hv_probe_command command);
const char *hv_probe_command_name(enum hv_probe_command command);
bool hv_probe_command_find(const char *name, enum hv_probe_command *ret);

/* Gives COMMAND to the functions that FUNC selects, or takes it from them when FUNC begins with
 * '!'. FUNC is a [!]GLOB or an INDEX. COUNT is the text after the colon that follows the command
 * and its event; NULL if there is no colon. EINVAL: FUNC selects no function, or all that it
 * selects already have the command, whatever its event, or COUNT is not a number. ENODEV: the
 * command is to be taken away, but no function has it. */
struct hv_err *hv_probes_apply(struct hv_probes *p, const struct hv_sites *sites, const char *func,
			       enum hv_probe_command command, struct hv_event_ref event,
			       const char *count) hv_must_use;

/* What hv_probes_text() asks for. */
struct hv_probes_shown {
	/* How often a counted probe may still act. */
	int64_t (*left)(void *ctx, enum hv_probe_command command, const struct hv_probe *probe);
	/* The name of an event; NULL: there is none any more. hv_probes_text() frees it. */
	char *(*event)(void *ctx, struct hv_event_ref event);
	void *ctx;
};

/* Adds the commands, one a line, as set_ftrace_filter shows them. */
void hv_probes_text(const struct hv_probes *p, const struct hv_sites *sites,
		    const struct hv_probes_shown *shown, struct hv_text *ret);
