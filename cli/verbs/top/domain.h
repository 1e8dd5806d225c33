/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A domain that `hvtrace top` shows: its session, the profile of its functions, and what it has
 * counted at the last two looks.
 * Leaves to others: the order of functions (top_table.h), the text (top_text.h). */
#pragma once

#include "cli/verbs/own_session.h"
#include "cli/verbs/top/look.h"
#include "cli/verbs/top/waits.h"

struct top_domain {
	const char *spec; /* borrowed; as the user named the domain */
	char *name;	  /* owned; a terminal can show it */
	struct own_session session;
	char *dir; /* owned; with the profile: an instance, or "": the top; NULL: no functions */
	bool dir_is_ours;
	char *no_functions; /* owned; why there are none */
	char *ended;	    /* owned; why it is not looked at any more; NULL: it is */
	uint64_t nr_vcpus;
	pid_t vmm;
	int exits; /* fd, for kvm_exits_read(); -1: there is none */
	struct top_waits waits;
	struct top_look before, now;
};
#define TOP_DOMAIN_NONE                                                                            \
	{                                                                                          \
		.session = OWN_SESSION_NONE, .exits = -1, .waits = TOP_WAITS_NONE                  \
	}
void top_domain_deinit(struct top_domain *d);

/* Finds or begins the session of the domain SPEC. */
struct hv_err *top_domain_open(struct top_domain *d, const struct cli *cli,
			       const char *spec) hv_must_use;
/* Has the functions profiled that FUNCTIONS names (globs with blanks between, for an instance).
 * NULL: those that are profiled already, or of the session's set_ftrace_filter, or else some that
 * tell much and cost little. Needs no rights. */
struct hv_err *top_domain_begin(struct top_domain *d, const char *functions) hv_must_use;
/* Measures from now on how long tasks wait for a vCPU, unless tracing takes too much for that. */
struct hv_err *top_domain_begin_waits(struct top_domain *d) hv_must_use;
/* To be called some times a second between looks. */
void top_domain_turn(struct top_domain *d);
/* Looks again. If the domain cannot be looked at, it has ended. */
void top_domain_look(struct top_domain *d);
/* Puts everything back. */
struct hv_err *top_domain_close(struct top_domain *d) hv_must_use;
