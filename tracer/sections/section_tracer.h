/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers preemptoff, irqsoff and preemptirqsoff: measure sections with preemption off,
 * interrupts off, or either, and keep the longest one (docs/users/latency-tracers.md). Measurement
 * starts only after all coverable instructions are replaced, because a section without a visible
 * end would seem to last until the next one ends.
 *
 * tree/ formats sections. One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tracer/sections/section.h"
#include "tracer/sections/section_plan.h"

struct hv_clock;
struct hv_decoder;
struct hv_section_tracer;
struct hv_tracee;

/* Borrows all arguments. CLOCK is the guest's clock. From now on, DECODER uses the tracer to find
 * the instructions of detours. */
struct hv_section_tracer *hv_section_tracer_new(struct hv_tracee *t, const struct hv_clock *clock,
						struct hv_decoder *decoder);
void hv_section_tracer_free(struct hv_section_tracer *s);

/* Returns whether sections of KIND can be measured in this kernel. */
bool hv_section_tracer_exists(const struct hv_section_tracer *s, enum hv_section_kind kind);

/* Measures sections from now on even if coverage is too low, or some kernel entries are not
 * covered. */
void hv_section_tracer_force(struct hv_section_tracer *s);

/* Changes the guest and starts measuring. EOPNOTSUPP with the reason: this kernel does not count
 * preemption, has no room where it switches interrupts, or coverage is too low. EBUSY: a kernel
 * entry could not be changed now. On errors nothing is measured. */
struct hv_err *hv_section_tracer_start(struct hv_section_tracer *s,
				       enum hv_section_kind kind) hv_must_use;
/* Call this after the kernel's modules were reread. If a module was loaded, stops and restarts so
 * that its instructions are covered, and sections open at that time are not measured. If modules
 * were only removed, open sections continue. On errors nothing is measured any longer. */
struct hv_err *hv_section_tracer_renew(struct hv_section_tracer *s) hv_must_use;
/* Stops measuring and restores the guest's instructions. EBUSY: some could not be restored
 * (detours.h); they still have the effect of the kernel's own instructions. */
struct hv_err *hv_section_tracer_stop(struct hv_section_tracer *s) hv_must_use;

/* Keeps sections longer than NS from now on; each kept section raises NS to its own duration.
 * Discards earlier sections. If THRESH_NS is not 0, keeps the latest section that takes at least
 * THRESH_NS instead. */
void hv_section_tracer_begin_at(struct hv_section_tracer *s, uint64_t ns, uint64_t thresh_ns);
/* Returns the duration of the kept section, or the last begin_at()'s NS if none is kept. */
uint64_t hv_section_tracer_longest_ns(struct hv_section_tracer *s);

/* Which calls to keep with a section. LOGS false: none. Otherwise the guest records the ends of all
 * sections, and the calls between them at sites with HV_STUB_SECTION_FUNCTION. WANTS filters the
 * calls (NULL: all), because sites may also call other stubs. */
struct hv_section_calls {
	bool logs;
	bool (*wants)(void *ctx, const struct hv_event *call);
	void *ctx;
};
void hv_section_tracer_log(struct hv_section_tracer *s, const struct hv_section_calls *calls);

/* Checks whether a section was kept since the last check. If so, copies its calls and its stack
 * from the ring before they are overwritten. The functions above and below do this too. */
void hv_section_tracer_look(struct hv_section_tracer *s);
/* Returns the kept section with a reference for the caller, or NULL. */
struct hv_section *hv_section_tracer_kept(struct hv_section_tracer *s);

/* Statistics of the last start. */
struct hv_section_coverage {
	size_t nr_covered;
	size_t nr_retargeted; /* calls and jumps among the covered ones; the others are relocated */
	size_t nr_left;	      /* not covered; section_sites.h lists the reasons */
	size_t nr_refused;    /* could not be replaced */
	uint64_t nr_no_begin; /* sections whose beginning was not seen */
	uint64_t nr_no_end;   /* sections whose end was not seen before the next one began */
	uint64_t nr_stolen;   /* longer than the longest only because of stolen time */
};
void hv_section_tracer_coverage(const struct hv_section_tracer *s, struct hv_section_coverage *ret);

/* Finds the first MAX instructions that were not covered at the last start. Returns how many are in
 * RET. */
size_t hv_section_tracer_left(const struct hv_section_tracer *s, size_t max,
			      struct hv_section_left *ret);
