/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A chain of calls without frame pointers (unwind_sample.c), for test_user_unwind.c. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SAMPLE_COPY_MAX 32768
#define SAMPLE_REGS_LEN 168 /* struct pt_regs */

struct sample {
	uint64_t returns[64]; /* return addresses of the calls that are open, the outermost first */
	size_t nr;
	/* The registers and the stack of the innermost function, as HV_FETCH_USER_COPY stores them. */
	uint8_t copy[SAMPLE_REGS_LEN + SAMPLE_COPY_MAX];
};

extern struct sample sample;

/* Calls itself DEPTH times, then either qsort(), which calls the innermost function, or raise() with a
 * handler that does. It sets `sample` once after each sample_reset(). */
void sample_nest(unsigned depth, int by_signal);
void sample_reset(void);
