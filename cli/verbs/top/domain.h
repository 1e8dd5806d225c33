/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A domain that `hvtrace top` shows: its session, the profile of its functions, and the counters of
 * the last two looks. top/table.h sorts functions; top/text.h formats them. */
#pragma once

#include "cli/client.h"
#include "cli/verbs/own_session.h"
#include "cli/verbs/record/recording.h"
#include "cli/verbs/top/programs.h"
#include "cli/verbs/top/table.h"
#include "latency/wait_times.h"

/* -- waits for a vCPU -------------------------------------------------------------------------- */

/* Measures how long tasks of a domain wait for a vCPU, for `hvtrace top`: records the guest's
 * scheduler events in an instance that ends with the connection. latency/wait_times.h computes the
 * waits; table.h computes rates. */

struct top_waits {
	struct recording recording; /* has no instance if waits are not measured */
	char *why;		    /* owned; why requested measuring is off */
};
#define TOP_WAITS_NONE                                                                             \
	{                                                                                          \
		.recording = RECORDING_NONE                                                        \
	}

/* -- the domain -------------------------------------------------------------------------------- */

struct top_domain {
	const char *spec; /* borrowed; the user's name for the domain */
	char *name;	  /* owned; sanitised for a terminal */
	struct own_session session;
	char *dir; /* owned; directory of the profile: an instance, or "" for the top; NULL: no
		      functions */
	bool dir_is_ours;
	char *no_functions; /* owned; why functions are missing */
	char *ended;	    /* owned; why the domain is no longer examined; NULL: it is */
	uint64_t nr_vcpus;
	pid_t vmm;
	int exits; /* fd, for kvm_exits_read(); -1: not available */
	struct top_waits waits;
	struct top_programs programs;
	uint64_t gave_up_ns; /* when the waits were given up; 0: they were not */
	struct top_look before, now;
};
#define TOP_DOMAIN_NONE                                                                            \
	{                                                                                          \
		.session = OWN_SESSION_NONE, .exits = -1, .waits = TOP_WAITS_NONE,                 \
		.programs = TOP_PROGRAMS_NONE                                                      \
	}
void top_domain_deinit(struct top_domain *d);

/* Finds or starts the session of the domain SPEC. */
struct hv_err *top_domain_open(struct top_domain *d, const struct cli *cli,
			       const char *spec) hv_must_use;
/* Profiles FUNCTIONS (globs separated by blanks, in an instance). NULL: keeps an existing profile,
 * or uses the session's set_ftrace_filter, or else selects functions that are informative and
 * cheap. Needs no rights. */
struct hv_err *top_domain_begin(struct top_domain *d, const char *functions) hv_must_use;
/* Starts measuring how long tasks wait for a vCPU, unless that would cost too much. */
struct hv_err *top_domain_begin_waits(struct top_domain *d) hv_must_use;
/* Starts sampling programs, unless that would cost too much. */
struct hv_err *top_domain_begin_programs(struct top_domain *d) hv_must_use;
/* Call it a few times a second between looks. */
void top_domain_turn(struct top_domain *d);
/* Looks again. If that fails, the domain has ended. */
void top_domain_look(struct top_domain *d);
/* Restores all settings. */
struct hv_err *top_domain_close(struct top_domain *d) hv_must_use;
