/* The slanted titles above an event's flags, as ftrace's headers have them:
 *
 *     _--=> irqs-off
 *    / _-=> need-resched
 *   | /     delay
 *
 * Leaves to others: what the flags are (format.h), lines before and behind. */
#pragma once

#include <stdbool.h>

#include "base/text.h"

struct hv_flag_columns {
	bool has_cpu;	 /* the CPU's number comes first */
	bool has_lazy;	 /* PREEMPT_RT's own two, before 6.12 */
	int indent;	 /* blanks between # and the first */
	int title_width; /* at least */
};

void hv_flag_columns(struct hv_text *out, const struct hv_flag_columns *columns);
