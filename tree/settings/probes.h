/* Commands on functions, FUNC:COMMAND[:COUNT] in set_ftrace_filter: which functions have which, and
 * how often they may still act (ftrace_func_probe, register_ftrace_function_probe).
 * A command with a count and the same one without are two things, as in the kernel.
 * Leaves to others: what a command does (session.h), the files (files/filter.c). */
#pragma once

#include "base/text.h"
#include "kernel/sites.h"

enum hv_probe_command {
	HV_PROBE_TRACEON,
	HV_PROBE_TRACEOFF,
	HV_PROBE_STACKTRACE,
	HV_PROBE_SNAPSHOT,
	HV_PROBE_DUMP,	  /* of dump and cpudump the count is always 1 */
	HV_PROBE_CPUDUMP, /* shown without its count, as the kernel shows it */
	HV_NR_PROBE_COMMANDS
};

struct hv_probe {
	uint64_t ip;
	int64_t count; /* of a counted one: at first; 0 or less: it does nothing */
};

struct hv_probe_set {
	enum hv_probe_command command;
	unsigned counted;
	struct hv_probe *list; /* owned, ascending by ip, no two alike; never empty */
	size_t nr;
};

/* Zero-initialised is empty. */
struct hv_probes {
	struct hv_probe_set sets[2 * HV_NR_PROBE_COMMANDS]; /* the newest first */
	size_t nr;
};

/* NULL: the function at IP is not in it. */
struct hv_probe *hv_probes_find(const struct hv_probe_set *set, uint64_t ip);

bool hv_probes_have(const struct hv_probes *p, enum hv_probe_command command);
void hv_probes_deinit(struct hv_probes *p);
struct hv_probes hv_probes_dup(const struct hv_probes *p);

const char *hv_probe_command_name(enum hv_probe_command command);
bool hv_probe_command_find(const char *name, enum hv_probe_command *ret);

/* FUNC: [!]GLOB or INDEX. PARAM: what follows the command's colon; NULL: there was none. EINVAL: no
 * function matches, none that has not got it already, not a number; ENODEV: no function has it
 * that could lose it. */
struct hv_err *hv_probes_apply(struct hv_probes *p, const struct hv_sites *sites, const char *func,
			       enum hv_probe_command command, const char *param) hv_must_use;

/* One a line, as set_ftrace_filter shows them. LEFT says how often a counted probe may still act;
 * CTX is for it. */
void hv_probes_text(const struct hv_probes *p, const struct hv_sites *sites,
		    int64_t (*left)(void *ctx, enum hv_probe_command command,
				    const struct hv_probe *probe),
		    void *ctx, struct hv_text *ret);
