/* The flags of an event: a letter each for interrupts, rescheduling, context and depths, and the
 * slanted titles above the letters:
 *
 *     _--=> irqs-off
 *    / _-=> need-resched
 *   | /     delay
 *
 * PREEMPT_RT before 6.12 has two letters more, for lazy preemption of its own (layout.has_lazy).
 * Leaves to others: the columns before and behind. */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

struct hv_flag_columns {
	bool has_cpu;	 /* the CPU's number comes first */
	bool has_lazy;	 /* the letters of lazy preemption */
	int indent;	 /* blanks between # and the first */
	int title_width; /* at least */
};

void hv_flags_titles(struct hv_text *out, const struct hv_flag_columns *columns);
void hv_flags_letters(struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *event);
