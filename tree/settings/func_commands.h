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

enum hv_func_command_kind {
	HV_FUNC_COMMAND_TRACEON,
	HV_FUNC_COMMAND_TRACEOFF,
	HV_FUNC_COMMAND_STACKTRACE,
	HV_FUNC_COMMAND_SNAPSHOT,
	HV_FUNC_COMMAND_DUMP,	 /* its count is always 1 */
	HV_FUNC_COMMAND_CPUDUMP, /* count 1 too, but shown without a count, as in the kernel */
	HV_FUNC_COMMAND_ENABLE_EVENT,
	HV_FUNC_COMMAND_DISABLE_EVENT,
	HV_NR_FUNC_COMMAND_KINDS
};

struct hv_func_command {
	uint64_t ip;
	int64_t count;		   /* if the set is counted: remaining count; 0 or less: used up */
	struct hv_event_ref event; /* for commands that enable or disable an event */
};

struct hv_func_command_set {
	enum hv_func_command_kind command;
	unsigned counted;
	struct hv_func_command *list; /* owned, ascending by ip, without duplicates; never empty */
	size_t nr;
};

/* Zero-initialised is empty. */
struct hv_func_commands {
	struct hv_func_command_set sets[2 * HV_NR_FUNC_COMMAND_KINDS]; /* newest first */
	size_t nr;
};

/* Returns the command of SET for the function at IP, or NULL. */
struct hv_func_command *hv_func_commands_find(const struct hv_func_command_set *set, uint64_t ip);

bool hv_func_commands_have(const struct hv_func_commands *p, enum hv_func_command_kind command);
/* Returns whether any command of P enables or disables an event. */
bool hv_func_commands_have_events(const struct hv_func_commands *p);
void hv_func_commands_deinit(struct hv_func_commands *p);
struct hv_func_commands hv_func_commands_dup(const struct hv_func_commands *p);

/* Removes SET of P, with its commands. */
void hv_func_commands_drop(struct hv_func_commands *p, struct hv_func_command_set *set);

/* Returns whether COMMAND takes an event: FUNC:COMMAND:SYSTEM:EVENT[:COUNT]. */
bool hv_func_command_has_event(enum hv_func_command_kind command);
/* Returns the rights for adding and removing COMMAND, in addition to those of the file. */
uint32_t hv_func_command_need(enum hv_func_command_kind command);
const char *hv_func_command_name(enum hv_func_command_kind command);
bool hv_func_command_find(const char *name, enum hv_func_command_kind *ret);

/* Adds COMMAND to the functions that FUNC selects, or removes it if FUNC begins with '!'. FUNC is a
 * [!]GLOB or an INDEX. COUNT is the text after the colon that follows the command and its event, or
 * NULL. EINVAL: FUNC selects no function, all selected functions already have the command (with any
 * event), or COUNT is not a number. ENODEV: no function has the command that is to be removed. */
struct hv_err *hv_func_commands_apply(struct hv_func_commands *p, const struct hv_sites *sites,
				      const char *func, enum hv_func_command_kind command,
				      struct hv_event_ref event, const char *count) hv_must_use;

/* Callbacks of hv_func_commands_text(). */
struct hv_func_commands_shown {
	/* Returns the remaining count of a counted command. */
	int64_t (*left)(void *ctx, enum hv_func_command_kind command,
			const struct hv_func_command *func_command);
	/* Returns the name of an event, which hv_func_commands_text() frees. NULL: the event no
	 * longer exists. */
	char *(*event)(void *ctx, struct hv_event_ref event);
	void *ctx;
};

/* Adds the commands, one per line, as set_ftrace_filter shows them. */
void hv_func_commands_text(const struct hv_func_commands *p, const struct hv_sites *sites,
			   const struct hv_func_commands_shown *shown, struct hv_text *ret);
