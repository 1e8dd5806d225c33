/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers preemptoff, irqsoff and preemptirqsoff in the guest: measure the sections in which
 * preemption is off, or interrupts, or one of them, and keep the longest one
 * (docs/users/latency-tracers.md). Nothing is measured before every instruction that could be
 * covered is, since a section whose end is not seen would seem to last until the next end. Leaves
 * to others: the text of a section (tree/). One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tracer/section.h"
#include "tracer/section_plan.h"

struct hv_clock;
struct hv_decoder;
struct hv_section_tracer;
struct hv_tracee;

/* Borrows T; CLOCK, the guest's; and DECODER, which finds places of detours from now on. */
struct hv_section_tracer *hv_section_tracer_new(struct hv_tracee *t, const struct hv_clock *clock,
						struct hv_decoder *decoder);
void hv_section_tracer_free(struct hv_section_tracer *s);

/* False: sections of KIND cannot be measured in this kernel. */
bool hv_section_tracer_exists(const struct hv_section_tracer *s, enum hv_section_kind kind);

/* From now on sections are measured also if not enough is covered, or not all ways into the
 * kernel. */
void hv_section_tracer_force(struct hv_section_tracer *s);

/* Changes the guest and begins to measure. EOPNOTSUPP with the reason: this kernel does not count
 * preemption, has no room where it switches interrupts, or not enough of it is covered. EBUSY: a
 * way into the kernel could not be changed now. On errors nothing is measured. */
struct hv_err *hv_section_tracer_start(struct hv_section_tracer *s,
				       enum hv_section_kind kind) hv_must_use;
/* To be called when the kernel's modules were read again: if one has come, stops and starts again,
 * so that its places are covered, too. What is open then is not measured. If modules have only
 * gone, it is. On errors nothing is measured any more. */
struct hv_err *hv_section_tracer_renew(struct hv_section_tracer *s) hv_must_use;
/* Ends to measure, and puts the guest's instructions back. EBUSY: some could not be put back
 * (detours.h); they do nothing but what the kernel's own would do. */
struct hv_err *hv_section_tracer_stop(struct hv_section_tracer *s) hv_must_use;

/* Sections that take longer than NS are kept from now on, and each makes NS its own time. Those
 * kept before do not count any more. With THRESH_NS, which is not 0, those are kept that take at
 * least so long, the last one of all. */
void hv_section_tracer_begin_at(struct hv_section_tracer *s, uint64_t ns, uint64_t thresh_ns);
/* The time of the section that is kept, or the NS above when there is none. */
uint64_t hv_section_tracer_longest_ns(struct hv_section_tracer *s);

/* Whether the calls of functions between a section's ends are to be shown, and which. The guest
 * records them when sites call HV_STUB_SECTION_FUNCTION. WANTS says which calls count (NULL: all),
 * since sites may also call other stubs. LOGS: the ends of all sections are recorded, too. */
struct hv_section_calls {
	bool logs;
	bool (*wants)(void *ctx, const struct hv_event *call);
	void *ctx;
};
void hv_section_tracer_log(struct hv_section_tracer *s, const struct hv_section_calls *calls);

/* Looks whether a section was kept since the last look, and if so takes its calls and its stack out
 * of the ring, before others overwrite them. The functions above and below do this, too. */
void hv_section_tracer_look(struct hv_section_tracer *s);
/* Returns the section that is kept, of which the caller has a reference then; NULL: there is none.
 */
struct hv_section *hv_section_tracer_kept(struct hv_section_tracer *s);

/* Of the last start. */
struct hv_section_coverage {
	size_t nr_covered;
	size_t nr_retargeted; /* of these: calls and jumps; the others are relocated */
	size_t nr_left;	      /* not covered: preempt_sites.h and irq_sites.h have the reasons */
	size_t nr_refused;    /* could not be replaced */
	uint64_t nr_no_begin; /* sections that ended, and whose beginning was not seen */
	uint64_t nr_no_end;   /* likewise the other way round: another one began */
	uint64_t nr_stolen;   /* longer than the longest only by stolen time */
};
void hv_section_tracer_coverage(const struct hv_section_tracer *s, struct hv_section_coverage *ret);

/* The first MAX places that are not covered, since the last start. Returns how many there are in
 * RET. */
size_t hv_section_tracer_left(const struct hv_section_tracer *s, size_t max,
			      struct hv_section_left *ret);
