/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions of a domain's programs that use most CPU time, for `hvtrace top`: samples the
 * guest's timer tick in an instance, as `hvtrace profile` does, and counts the samples of each
 * interval by the innermost function of the program. The instance ends with the connection.
 *
 * The guest chooses names and numbers of tasks and functions: the names are only displayed, and the
 * numbers are bounded. */
#pragma once

#include "cli/verbs/profile/probe.h"
#include "cli/verbs/profile/programs.h"
#include "cli/verbs/record/recording.h"
#include "profile/profile.h"

/* A function of the programs of a name. */
struct top_program {
	const char *program;  /* untrusted; belongs to struct top_programs */
	const char *function; /* like PROGRAM */
	const char *file;     /* like PROGRAM; NULL: unknown */
	uint64_t nr;	      /* samples in the interval */
};

struct top_programs {
	struct recording recording; /* has no instance if programs are not sampled */
	struct profile_probe probe;
	struct programs programs;
	struct hv_chains names; /* the names of tasks and functions that were seen */
	char *why;		/* owned; why requested sampling is off */
	/* Of the last interval: the functions with most samples first, and the samples of all tasks,
	 * also of the kernel's. */
	struct top_program *list; /* owned */
	size_t nr, room;
	uint64_t nr_samples;
};
#define TOP_PROGRAMS_NONE                                                                          \
	{                                                                                          \
		.recording = RECORDING_NONE                                                        \
	}

void top_programs_deinit(struct top_programs *p);
/* Starts sampling in INSTANCE. If that is not possible, sets `why` and succeeds. P must not move. */
struct hv_err *top_programs_begin(struct top_programs *p, struct client *c,
				  const char *instance) hv_must_use;
/* Takes available samples, if programs are sampled. Call it a few times a second. */
struct hv_err *top_programs_take(struct top_programs *p) hv_must_use;
/* Sets the list from the samples since the last call. */
struct hv_err *top_programs_look(struct top_programs *p) hv_must_use;
/* The part of top_programs_look() that counts the samples of S, and forgets them. */
struct hv_err *top_programs_count(struct top_programs *p, struct hv_profile *s) hv_must_use;
/* Stops sampling; WHY, which is copied, is the reason if the rest continues. */
struct hv_err *top_programs_end(struct top_programs *p, const char *why) hv_must_use;
