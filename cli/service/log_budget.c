/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/service/log_budget.h"

#include "base/clock.h"

#define MINUTE_NS (60 * HV_NS_PER_S)
#define DAY_NS	  (24 * 60 * MINUTE_NS)

/* Returns whether MORE fits into the window of LONG_NS, whose limit is MAX. */
static bool fits(struct log_window *w, uint64_t long_ns, uint64_t more, uint64_t max,
		 uint64_t now_ns)
{
	if (now_ns - w->began_ns >= long_ns)
		*w = (struct log_window){.began_ns = now_ns};
	return w->used + more <= max;
}

enum log_verdict log_budget_take(struct log_budget *b, size_t len_bytes, uint64_t now_ns,
				 uint64_t *ret_nr_dropped)
{
	size_t len = len_bytes < LOG_BYTES_OF_LINE ? len_bytes : LOG_BYTES_OF_LINE;
	bool has_room = fits(&b->second, HV_NS_PER_S, 1, LOG_LINES_A_SECOND, now_ns);

	has_room &= fits(&b->minute, MINUTE_NS, len, LOG_BYTES_A_MINUTE, now_ns);
	has_room &= fits(&b->day, DAY_NS, len, LOG_BYTES_A_DAY, now_ns);
	if (!has_room && now_ns - b->passed_ns < LOG_PASSES_ANYWAY_NS)
		return b->nr_dropped++ ? LOG_DROPPED : LOG_DROPPED_FIRST;
	b->second.used++;
	b->minute.used += len;
	b->day.used += len;
	b->passed_ns = now_ns;
	*ret_nr_dropped = b->nr_dropped;
	b->nr_dropped = 0;
	return LOG_PASSES;
}
