/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selects the kernel's instructions to replace in order to measure sections, and computes how much
 * of the kernel they cover. Reads only the kernel.
 *
 * detours.h replaces the instructions; section_tracer.h measures. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/addr.h"
#include "base/err.h"

struct hv_detour_want;
struct hv_kernel;
struct hv_tracee;

/* Whether preemption, interrupts or either of them are off in a section. */
enum hv_section_kind {
	HV_SECTION_PREEMPT, /* preemptoff */
	HV_SECTION_IRQ,	    /* irqsoff */
	HV_SECTION_EITHER,  /* preemptirqsoff */
};

/* An instruction that is not covered. */
struct hv_section_left {
	struct hv_gva at;
	const char *reason; /* static */
};

#define HV_SECTION_LEFT_MAX 64 /* number of uncovered instructions that are listed */

/* Zero-initialised. */
struct hv_section_plan {
	struct hv_detour_want *wants; /* owned */
	size_t nr;
	size_t nr_covered;    /* without the calls around the idle loop */
	size_t nr_retargeted; /* calls and jumps among the covered ones; the others are relocated */
	size_t nr_left;	      /* not covered; LEFT has the first ones */
	struct hv_section_left left[HV_SECTION_LEFT_MAX];
	size_t nr_named;
};
void hv_section_plan_deinit(struct hv_section_plan *p);

/* Returns whether covering NR_COVERED of NR instructions is enough to trust the measured sections.
 * With less, sections would often be missed. */
bool hv_sections_cover_enough(size_t nr_covered, size_t nr);

enum hv_section_trust {
	HV_SECTION_ENOUGH, /* refuse if too little is covered */
	HV_SECTION_FORCED,
};

/* Finds the instructions of K to replace for sections of KIND. EOPNOTSUPP with the reason: its idle
 * loop was not found, or too few instructions or not all kernel entries can be covered.
 * Deinitialize RET on errors too. */
struct hv_err *hv_section_plan_make(const struct hv_kernel *k, enum hv_section_kind kind,
				    enum hv_section_trust trust,
				    struct hv_section_plan *ret) hv_must_use;

/* -- whether to replace again ------------------------------------------------------------------ */

/* The modules that existed when the instructions for sections were replaced. Decides whether
 * instructions must be replaced again: a new module needs this, a removed one does not, and open
 * sections then continue.
 *
 * detours.h replaces instructions. */

struct hv_section_module {
	struct hv_gva at; /* address of its struct module */
	struct hv_gva_range text;
	size_t nr_replaced; /* number of replaced instructions in it */
};

/* Zero-initialised: empty. */
struct hv_section_modules {
	struct hv_section_module *list; /* owned, sorted by text.start */
	size_t nr;
};
void hv_section_modules_deinit(struct hv_section_modules *m);

/* Notes the modules of T's kernel and the present number of replaced instructions in them. */
void hv_section_modules_note(struct hv_section_modules *m, const struct hv_tracee *t);
/* Returns whether T's kernel has a module that was not noted, or one with fewer replaced
 * instructions than noted, which is a new module at an old address. */
bool hv_section_modules_have_come(const struct hv_section_modules *m, const struct hv_tracee *t);
