/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much a session may write to the system's log. Its lines are the claims of a service that a
 * guest may have taken over, or follow from what operators do without end, and must not fill the
 * disk. When the budget is used up, one line a minute still passes, so that the log shows that the
 * session exists, and how many lines it lacks.
 * Leaves to others: writing lines (audit.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINES_A_SECOND   200
#define LOG_BYTES_A_MINUTE   (256u << 10)
#define LOG_BYTES_A_DAY	     (32u << 20)
#define LOG_BYTES_OF_LINE    8192 /* at most; what is longer is cut */
#define LOG_PASSES_ANYWAY_NS UINT64_C(60000000000)

/* Of zeros at first. */
struct log_budget {
	struct log_window {
		uint64_t began_ns;
		uint64_t used;
	} second, minute, day; /* lines, bytes, bytes */
	uint64_t passed_ns;    /* when the last line passed */
	uint64_t nr_dropped;   /* since then */
};

enum log_verdict {
	LOG_PASSES,
	LOG_DROPPED,
	LOG_DROPPED_FIRST, /* since a line has passed */
};

/* Decides about a line of LEN_BYTES at NOW_NS. *RET_NR_DROPPED is how many lines were dropped
 * before one that passes. */
enum log_verdict log_budget_take(struct log_budget *b, size_t len_bytes, uint64_t now_ns,
				 uint64_t *ret_nr_dropped);
