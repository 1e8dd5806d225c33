/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tracers preemptoff, irqsoff and preemptirqsoff in the guest: measure the sections in which
 * preemption is off, or interrupts, or one of them, and keep the longest one (docs/irqsoff.md).
 * Nothing is measured before every instruction that could be covered is, since a section whose end
 * is not seen would seem to last until the next end. Leaves to others: the text of a section
 * (tree/). One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "tracer/events/event.h"

/* What is off in a section. */
enum hv_section_kind {
	HV_SECTION_PREEMPT, /* preemptoff */
	HV_SECTION_IRQ,	    /* irqsoff */
	HV_SECTION_EITHER,  /* preemptirqsoff */
};

struct hv_clock;
struct hv_decode;
struct hv_section_tracer;
struct hv_tracee;

/* Borrows T; CLOCK, the guest's; and DECODE. */
struct hv_section_tracer *hv_section_tracer_new(struct hv_tracee *t, const struct hv_clock *clock,
						const struct hv_decode *decode);
void hv_section_tracer_free(struct hv_section_tracer *s);

/* False: sections of KIND cannot be measured in this kernel. */
bool hv_section_tracer_exists(const struct hv_section_tracer *s, enum hv_section_kind kind);

/* Changes the guest and begins to measure. EOPNOTSUPP with the reason: this kernel does not count
 * preemption, has no room where it switches interrupts, or not enough of it is covered. EBUSY: a
 * way into the kernel could not be changed now. On errors nothing is measured. */
struct hv_err *hv_section_tracer_start(struct hv_section_tracer *s,
				       enum hv_section_kind kind) hv_must_use;
/* To be called when modules may have come or gone: if they have, stops and starts again, so that
 * the places of new modules are covered, too. On errors nothing is measured any more. */
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

/* A section that was kept. Its ends are as a function's call: ip is in the function that switched
 * preemption off or on, parent_ip in its caller (0: not known). */
struct hv_section {
	unsigned cpu;
	uint64_t ns;	    /* without: */
	uint64_t stolen_ns; /* in which the host did not run the vCPU, as it told the guest; 0 if it
			     * does not tell (struct kvm_steal_time) */
	struct hv_event from, to;
};
/* False: there is none. */
bool hv_section_tracer_kept(struct hv_section_tracer *s, struct hv_section *ret);

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

/* A place that is not covered. */
struct hv_section_left {
	struct hv_gva at;
	const char *reason; /* static */
};
/* The first MAX of them since the last start. Returns how many there are in RET. */
size_t hv_section_tracer_left(const struct hv_section_tracer *s, size_t max,
			      struct hv_section_left *ret);
