/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records ftrace:wakeup and ftrace:context_switch of the wakeup tracers, which the kernel
 * prints without their print_fmt (trace_ctxwake_print and others in kernel/trace/trace_output.c):
 *
 *       0:120:R   + [003]   312:100:R kworker/3:1H	pid, priority, state
 *       0:120:R ==> [003]   312:100:R kworker/3:1H
 *
 * format.h prints the start of the line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "tracer/events/event.h"
#include "tree/format/style.h"

struct hv_context_switch {
	bool is_wakeup;
	uint32_t prev_pid, next_pid, next_cpu;
	uint8_t prev_prio, next_prio;
	uint8_t prev_state, next_state; /* indices into the state letters */
};

/* Reads E, an HV_EVENT_GUESTS. Returns false if it is another record or too short. */
bool hv_context_switch_read(const struct hv_style *style, const struct hv_event *e,
			    struct hv_context_switch *ret);

/* Add the record without a newline: as text, and in the formats of the options raw, hex and bin. */
void hv_context_switch_text(struct hv_text *out, const struct hv_style *style,
			    const struct hv_context_switch *s);
void hv_context_switch_raw(struct hv_text *out, const struct hv_context_switch *s);
void hv_context_switch_hex(struct hv_text *out, const struct hv_context_switch *s);
void hv_context_switch_bin(struct hv_text *out, const struct hv_context_switch *s);
