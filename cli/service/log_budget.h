/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits how much a session writes to the system's log, so that it cannot fill the disk: lines can
 * come from a compromised service or from operators' endless actions. After the budget is used up,
 * one line a minute still passes with the number of dropped lines, so the log shows that the
 * session exists. audit.h writes the lines. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINES_A_SECOND   200
#define LOG_BYTES_A_MINUTE   (256u << 10)
#define LOG_BYTES_A_DAY	     (32u << 20)
#define LOG_BYTES_OF_LINE    8192 /* longer lines are truncated */
#define LOG_PASSES_ANYWAY_NS UINT64_C(60000000000)

/* Starts zeroed. */
struct log_budget {
	struct log_window {
		uint64_t began_ns;
		uint64_t used;
	} second, minute, day; /* limits in lines, bytes, bytes */
	uint64_t passed_ns;    /* time of the last line that passed */
	uint64_t nr_dropped;   /* since then */
};

enum log_verdict {
	LOG_PASSES,
	LOG_DROPPED,
	LOG_DROPPED_FIRST, /* the first dropped line since a line passed */
};

/* Decides about a line of LEN_BYTES at NOW_NS. For a line that passes, *RET_NR_DROPPED is the
 * number of lines dropped before it. */
enum log_verdict log_budget_take(struct log_budget *b, size_t len_bytes, uint64_t now_ns,
				 uint64_t *ret_nr_dropped);
