/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function commands, FUNC:COMMAND[:COUNT] in set_ftrace_filter: the functions that have each
 * command, and the remaining counts (ftrace_func_probe, register_ftrace_function_probe). A function
 * may have a command both with and without a count. tracer/guest/actions.h and
 * instance/demux/demux.c execute commands; files/filter.c has the file. */
#pragma once

#include "base/text.h"
#include "kernel/sites/sites.h"
#include "tree/settings/event_set.h"
#include "tree/settings/rights.h"

enum hv_probe_command {
	HV_PROBE_TRACEON,
	HV_PROBE_TRACEOFF,
	HV_PROBE_STACKTRACE,
	HV_PROBE_SNAPSHOT,
	HV_PROBE_DUMP,	  /* its count is always 1 */
	HV_PROBE_CPUDUMP, /* count 1 too, but shown without a count, as in the kernel */
	HV_PROBE_ENABLE_EVENT,
	HV_PROBE_DISABLE_EVENT,
	HV_NR_PROBE_COMMANDS
};

struct hv_probe {
	uint64_t ip;
	int64_t count;		   /* if the set is counted: remaining count; 0 or less: used up */
	struct hv_event_ref event; /* for commands that enable or disable an event */
};

struct hv_probe_set {
	enum hv_probe_command command;
	unsigned counted;
	struct hv_probe *list; /* owned, ascending by ip, without duplicates; never empty */
	size_t nr;
};

/* Zero-initialised is empty. */
struct hv_probes {
	struct hv_probe_set sets[2 * HV_NR_PROBE_COMMANDS]; /* newest first */
	size_t nr;
};

/* Returns the probe of SET for the function at IP, or NULL. */
struct hv_probe *hv_probes_find(const struct hv_probe_set *set, uint64_t ip);

bool hv_probes_have(const struct hv_probes *p, enum hv_probe_command command);
/* Returns whether any command of P enables or disables an event. */
bool hv_probes_have_events(const struct hv_probes *p);
void hv_probes_deinit(struct hv_probes *p);
struct hv_probes hv_probes_dup(const struct hv_probes *p);

/* Removes SET of P, with its probes. */
void hv_probes_drop(struct hv_probes *p, struct hv_probe_set *set);

/* Returns whether COMMAND takes an event: FUNC:COMMAND:SYSTEM:EVENT[:COUNT]. */
bool hv_probe_command_has_event(enum hv_probe_command command);
/* Returns the rights for adding and removing COMMAND, in addition to those of the file. */
uint32_t hv_probe_command_need(enum hv_probe_command command);
const char *hv_probe_command_name(enum hv_probe_command command);
bool hv_probe_command_find(const char *name, enum hv_probe_command *ret);

/* Adds COMMAND to the functions that FUNC selects, or removes it if FUNC begins with '!'. FUNC is a
 * [!]GLOB or an INDEX. COUNT is the text after the colon that follows the command and its event, or
 * NULL. EINVAL: FUNC selects no function, all selected functions already have the command (with any
 * event), or COUNT is not a number. ENODEV: no function has the command that is to be removed. */
struct hv_err *hv_probes_apply(struct hv_probes *p, const struct hv_sites *sites, const char *func,
			       enum hv_probe_command command, struct hv_event_ref event,
			       const char *count) hv_must_use;

/* Callbacks of hv_probes_text(). */
struct hv_probes_shown {
	/* Returns the remaining count of a counted probe. */
	int64_t (*left)(void *ctx, enum hv_probe_command command, const struct hv_probe *probe);
	/* Returns the name of an event, which hv_probes_text() frees. NULL: the event no longer
	 * exists. */
	char *(*event)(void *ctx, struct hv_event_ref event);
	void *ctx;
};

/* Adds the commands, one per line, as set_ftrace_filter shows them. */
void hv_probes_text(const struct hv_probes *p, const struct hv_sites *sites,
		    const struct hv_probes_shown *shown, struct hv_text *ret);
