/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the records of one section from the ring of its vCPU: the calls in it and the stack at its
 * end. Reads the ring independently of other readers and consumes nothing.
 *
 * section_tracer.h chooses the section. One thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "tracer/sections/section.h"

struct hv_decoder;
struct hv_kernel;
struct hv_sections;
struct hv_state;

/* Maximum number of calls, counted from the end. */
#define HV_SECTION_CALLS_MAX 65536

/* The ring of vCPU CPU. All pointers are borrowed. */
struct hv_section_ring {
	struct hv_decoder *decoder;
	const struct hv_state *state; /* followed by the records */
	uint64_t nr_slots;
	unsigned cpu;
};

/* Returns whether to include a call. */
typedef bool (*hv_section_wants)(void *ctx, const struct hv_event *call);

/* Fills in the calls of RET, the section described by KEPT. WANTS NULL: includes all calls. */
void hv_section_log_calls(const struct hv_section_ring *ring, const struct hv_sections *kept,
			  hv_section_wants wants, void *ctx, struct hv_section *ret);
/* Fills in the callers of RET. */
void hv_section_log_stack(const struct hv_section_ring *ring, const struct hv_sections *kept,
			  struct hv_section *ret);

/* -- names of a section's addresses ------------------------------------------------------------ */

/* Names of addresses in modules at the time of a section. A section is kept until a worse one is
 * found. Until then its module may be unloaded and another one loaded at the same addresses. The
 * core kernel does not change.
 *
 * tree/format/ shows the names. */

/* Looks up all addresses of S outside the core kernel. */
void hv_section_keep_names(struct hv_section *s, const struct hv_kernel *k);
