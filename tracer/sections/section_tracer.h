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
#include <stdlib.h>

#include "base/addr.h"
#include "base/err.h"
#include "tracer/events/event.h"

struct hv_clock;
struct hv_decoder;
struct hv_kernel;
struct hv_section_tracer;
struct hv_sections;
struct hv_state;
struct hv_tracee;

/* -- a saved section --------------------------------------------------------------------------- */

/* A saved section: its time, place and task, the functions called in it, and the stack at its end.
 * Reference-counted, because a reader may use it while a worse one is found. tree/format/ formats
 * it. */

/* The name of an address in a module at the time of the section. */
struct hv_section_name {
	struct hv_gva at;
	char *name;   /* owned; untrusted; NULL: no name */
	char *module; /* owned; untrusted; NULL: no name */
	uint64_t off; /* offset in the symbol */
	uint64_t len_bytes;
};

struct hv_section {
	unsigned nr_refs;
	unsigned cpu;
	uint64_t ns;	    /* duration without stolen_ns */
	uint64_t stolen_ns; /* time in which the host did not run the vCPU, as reported to the
			       guest; 0 if not reported (struct kvm_steal_time) */
	/* The ends are like calls: ip is in the function that switched preemption or interrupts off
	 * or on, parent_ip in its caller (0: unknown). */
	struct hv_event from, to;
	/* The task at the end of the section: */
	uint32_t uid;
	int32_t nice;
	uint32_t policy;
	uint32_t rt_priority;
	/* The calls recorded in it, in ring order. Owned. */
	struct hv_event *calls;
	size_t nr_calls;
	uint64_t nr_lost; /* overwritten calls */
	/* Callers of the function that switched preemption or interrupts on, innermost first.
	 * Owned. */
	struct hv_gva *callers;
	size_t nr_callers; /* 0: unknown */
	uint8_t callers_end_early;
	struct hv_section_name *names; /* owned; sorted by address */
	size_t nr_names;
};

static inline int hv_section_by_address(const void *a, const void *b)
{
	uint64_t x = ((const struct hv_section_name *)a)->at.v;
	uint64_t y = ((const struct hv_section_name *)b)->at.v;

	return x < y ? -1 : x > y;
}

/* Returns NULL if the name of AT was not saved. */
static inline const struct hv_section_name *hv_section_name_at(const struct hv_section *s,
							       struct hv_gva at)
{
	const struct hv_section_name key = {.at = at};

	if (!s->nr_names)
		return NULL;
	return (const struct hv_section_name *)bsearch(&key, s->names, s->nr_names, sizeof(key),
						       hv_section_by_address);
}

static inline struct hv_section *hv_section_ref(struct hv_section *s)
{
	s->nr_refs++;
	return s;
}

/* Accepts NULL. */
static inline void hv_section_unref(struct hv_section *s)
{
	if (!s || --s->nr_refs)
		return;
	free(s->calls);
	free(s->callers);
	for (size_t i = 0; i < s->nr_names; i++) {
		free(s->names[i].name);
		free(s->names[i].module);
	}
	free(s->names);
	free(s);
}

/* -- instructions to replace ------------------------------------------------------------------- */

/* Selects the kernel's instructions to replace in order to measure sections, and computes how much
 * of the kernel they cover. Reads only the kernel. detours.h replaces the instructions. */

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

/* Returns whether covering NR_COVERED of NR instructions is enough to trust the measured sections.
 * With less, sections would often be missed. */
bool hv_sections_cover_enough(size_t nr_covered, size_t nr);

/* -- whether to replace again ------------------------------------------------------------------ */

/* The modules that existed when the instructions for sections were replaced. Decides whether
 * instructions must be replaced again: a new module needs this, a removed one does not, and open
 * sections then continue. */

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

/* -- records of a section ---------------------------------------------------------------------- */

/* Reads the records of one section from the ring of its vCPU: the calls in it and the stack at its
 * end. Reads the ring independently of other readers and consumes nothing. */

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

/* -- the tracer -------------------------------------------------------------------------------- */

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
 * sections, and the calls between them at sites with HV_TRAMPOLINE_SECTION_FUNCTION. WANTS filters
 * the calls (NULL: all), because sites may also call other trampolines. */
struct hv_section_calls {
	bool logs;
	bool (*wants)(void *ctx, const struct hv_event *call);
	void *ctx;
};
void hv_section_tracer_log(struct hv_section_tracer *s, const struct hv_section_calls *calls);

/* Checks whether a section was kept since the last check. If so, copies its calls and its stack
 * from the ring before they are overwritten. hv_section_tracer_kept() and other functions that use
 * the kept section do this too. */
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
