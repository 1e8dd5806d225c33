/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinds copies of the stacks of programs for `hvtrace profile`, by the .eh_frame of their files.
 * That is read from the guest's page cache through the session, or from the user's copy of the file
 * (--symfs), 128 KiB at a time when a function needs it.
 *
 * The guest chooses the copies and the files, and the service's answers are untrusted: stacks and
 * memory are bounded (kernel/programs/unwind.h), and unwinding takes at most half of the time. A frame
 * that cannot be unwound ends its stack, which is counted. */
#pragma once

#include "cli/verbs/profile/programs.h"
#include "ringbuf/abi_bits.h"

/* Why a stack ends. */
enum stacks_end {
	STACKS_COMPLETE,
	STACKS_NO_CFI,	 /* no rules for the function can be read */
	STACKS_TOO_LONG, /* it is longer than its copy, or has too many functions */
	STACKS_WRONG,	 /* the rules do not fit the stack */
	STACKS_32_BIT,	 /* of a 32-bit program */
	STACKS_NO_TIME,
	STACKS_NR_ENDS,
};

struct stacks_file;

/* Zero-initialised is empty. */
struct stacks {
	struct programs *programs;  /* borrowed */
	struct stacks_file **files; /* owned; by number of file - 1; entries may be NULL */
	size_t nr_files;
	size_t nr_chunks;   /* of all files, in memory */
	unsigned nr_opened; /* files whose rules are looked up; others have none */
	uint64_t period_ns; /* start of the period in which time is counted */
	uint64_t spent_ns;  /* time spent in the period */
	uint64_t nr[STACKS_NR_ENDS];
	uint8_t joined[2 * HV_ENTRY_LEN_MAX]; /* a copy with its rest */
};

void stacks_deinit(struct stacks *s);
/* For struct hv_profile_files; CTX is a struct stacks. */
size_t stacks_unwind(void *ctx, uint32_t pid, const char *comm, struct hv_span copy,
		     struct hv_span rest, uint64_t *ret);
/* Adds a line about the stacks that end early, if any. */
void stacks_report(const struct stacks *s, struct hv_text *out);
