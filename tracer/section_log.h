/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads what stubs have recorded of one section from the ring of its vCPU: the calls in it, and the
 * stack at its end. Looks at the ring itself, whoever reads it besides, and takes nothing out.
 * Leaves to others: which section (section_tracer.h). One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracer/section.h"

struct hv_decoder;
struct hv_sections;
struct hv_state;

/* At most so many calls are kept, the last ones. */
#define HV_SECTION_CALLS_MAX 65536

/* The ring of vCPU CPU. Borrows all of it. */
struct hv_section_ring {
	struct hv_decoder *decoder;
	const struct hv_state *state; /* the records follow */
	uint64_t nr_slots;
	unsigned cpu;
};

/* Whether a call counts. */
typedef bool (*hv_section_wants)(void *ctx, const struct hv_event *call);

/* Fills in the calls of RET, which KEPT describes. WANTS may be NULL: all count. */
void hv_section_log_calls(const struct hv_section_ring *ring, const struct hv_sections *kept,
			  hv_section_wants wants, void *ctx, struct hv_section *ret);
/* Likewise the callers. */
void hv_section_log_stack(const struct hv_section_ring *ring, const struct hv_sections *kept,
			  struct hv_section *ret);
