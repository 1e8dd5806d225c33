/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The flags of an event, one letter each for interrupts, rescheduling, context and depths, and the
 * slanted titles above the letters:
 *
 *     _--=> irqs-off
 *    / _-=> need-resched
 *   | /     delay
 *
 * PREEMPT_RT before 6.12 has two more letters, for its own lazy preemption (layout.has_lazy). */
#pragma once

#include <stdbool.h>

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

struct hv_flag_columns {
	bool has_cpu;	 /* the CPU's number comes first */
	bool has_lazy;	 /* has letters for lazy preemption */
	int indent;	 /* blanks between # and the first column */
	int title_width; /* minimum width of a title */
};

void hv_flags_titles(struct hv_text *out, const struct hv_flag_columns *columns);
void hv_flags_letters(struct hv_text *out, const struct hv_style *style,
		      const struct hv_event *event);
