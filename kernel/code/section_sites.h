/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions where sections begin and end: where the kernel and its modules disable and
 * enable preemption and interrupts, and where the kernel is entered and left with interrupts off.
 * Found in the running text, function by function. Instructions that cannot or need not be replaced
 * are listed with the reason. tracer/ replaces the instructions. */
#pragma once

#include "arch/detour.h"
#include "base/err.h"

struct hv_kernel;

/* -- preemption -------------------------------------------------------------------------------- */

/* Each instruction adds a constant to the preempt count or subtracts it (inc, dec, add, sub of
 * __preempt_count). A kernel with the preemptoff tracer built in, or with DEBUG_PREEMPT, instead
 * has functions such as preempt_count_add() and preempt_count_sub(), which add and subtract a
 * register.
 *
 * Not listed: other instructions that add a register, which the kernel uses only while the count
 * stays above 0 (__local_bh_enable_ip), and instructions that write the whole count
 * (preempt_count_set). */

enum hv_preempt_cover {
	HV_PREEMPT_COVERED,
	HV_PREEMPT_OF_NMIS,	 /* counts NMIs, which can interrupt the recording of a section */
	HV_PREEMPT_IN_ENTRY,	 /* in the entry code, which may run with the user's per-CPU base */
	HV_PREEMPT_IN_TWO_PAGES, /* no single write can change it */
	HV_PREEMPT_IN_NO_FUNCTION, /* no symbol marks the start of its function */
	HV_PREEMPT_NO_INSN,	   /* matching bytes inside other instructions */
	HV_PREEMPT_NOT_UNDERSTOOD, /* an instruction before it is unknown */
	HV_PREEMPT_JUMPED_INTO,	   /* a jump leads into it */
	HV_PREEMPT_FLAGS_USED,	   /* later code depends on flags that a detour does not preserve */
	HV_PREEMPT_NR_COVERS
};

struct hv_preempt_site {
	struct hv_gva at;
	struct hv_count_insn count;
	uint8_t insn[HV_DETOUR_INSN_MAX]; /* as found */
	enum hv_preempt_cover cover;
	/* It subtracts, and an adding instruction of the same function is not covered. */
	bool misses_beginning;
	bool has_caller;     /* the function's return address is at caller_off */
	uint32_t caller_off; /* offset above the stack pointer */
};

struct hv_preempt_sites {
	struct hv_preempt_site
		*list; /* owned, sorted by address within the kernel and within each module */
	size_t nr;
	size_t nr_of[HV_PREEMPT_NR_COVERS];
};

/* A flag in the word of the count, not part of the count (PREEMPT_NEED_RESCHED). */
#define HV_PREEMPT_FLAG 0x80000000u

/* Returns whether the kernel counts preemption (CONFIG_PREEMPT_COUNT): checks for such an
 * instruction in a function that always counts in such kernels. */
bool hv_preempt_is_counted(const struct hv_kernel *k);

/* Returns whether AT is in one of the functions that count for all others. Then their caller is the
 * one that disables or enables preemption. */
bool hv_preempt_is_in_counter(const struct hv_kernel *k, struct hv_gva at);

/* Fails with EOPNOTSUPP if the kernel does not count (CONFIG_PREEMPT_COUNT) or is still booting. */
struct hv_err *hv_preempt_sites_read(const struct hv_kernel *k,
				     struct hv_preempt_sites *ret) hv_must_use;
void hv_preempt_sites_deinit(struct hv_preempt_sites *s);

/* Returns the reason as text, for "N are not covered: ...". */
const char *hv_preempt_cover_reason(enum hv_preempt_cover cover);

/* -- interrupts -------------------------------------------------------------------------------- */

/* A kernel that can run on Xen (CONFIG_PARAVIRT_XXL, as distributions build it) has nops after each
 * `cli` and `sti`: together they are as long as the call that was there before boot. So the
 * instruction and its nops can become a jump. The entry code has direct calls and jumps that can be
 * retargeted. */

enum hv_irq_cover {
	HV_IRQ_RELOCATED,      /* covered: the instruction and its nops become a jump */
	HV_IRQ_RETARGETED,     /* covered: a call or jump is retargeted */
	HV_IRQ_NO_NOP,	       /* not followed by nops of the same alternative */
	HV_IRQ_POPS,	       /* restores the flags from the stack */
	HV_IRQ_OWN_STACK,      /* an exception with a separate stack */
	HV_IRQ_IN_TWO_PAGES,   /* no single write can change it */
	HV_IRQ_NOT_UNDERSTOOD, /* an instruction before it, or the stack contents, are unknown */
	HV_IRQ_JUMPED_INTO,    /* a jump leads into it */
	HV_IRQ_FLAGS_USED,     /* later code depends on flags that a detour does not preserve */
	HV_IRQ_NR_COVERS
};

struct hv_irq_site {
	struct hv_gva at;
	/* HV_DETOUR_IRQS_OFF, _IRQS_ON, _ARRIVES or _RETURNS; _CALL_BEGINS if the instruction
	 * restores the flags (HV_IRQ_POPS) */
	enum hv_detour_kind kind;
	size_t len_bytes;		  /* including its nops */
	uint8_t insn[HV_DETOUR_INSN_MAX]; /* as found */
	struct hv_gva target;		  /* of a call, jump or branch */
	enum hv_irq_cover cover;
	/* For IRQS_ON: an instruction of this function that disables interrupts is not covered. */
	bool misses_beginning;
	bool has_caller;     /* the function's return address is at caller_off */
	uint32_t caller_off; /* offset above the stack pointer */
};

struct hv_irq_sites {
	struct hv_irq_site *list; /* owned */
	size_t nr;
	size_t nr_of[HV_IRQ_NR_COVERS];
	size_t nr_entries_left; /* ways into the kernel that are not covered */
};

/* Returns whether the kernel's `cli` and `sti` have nops. */
bool hv_irqs_are_paravirt(const struct hv_kernel *k);

/* Fails with EOPNOTSUPP and the reason if the kernel is still booting, its `cli` and `sti` have no
 * nops, it has no ORC tables, or its entry code is unknown; with ENOENT if a symbol of that code is
 * missing. */
struct hv_err *hv_irq_sites_read(const struct hv_kernel *k, struct hv_irq_sites *ret) hv_must_use;
void hv_irq_sites_deinit(struct hv_irq_sites *s);

static inline bool hv_irq_is_covered(const struct hv_irq_site *site)
{
	return site->cover == HV_IRQ_RELOCATED || site->cover == HV_IRQ_RETARGETED;
}

static inline size_t hv_irq_nr_covered(const struct hv_irq_sites *s)
{
	return s->nr_of[HV_IRQ_RELOCATED] + s->nr_of[HV_IRQ_RETARGETED];
}

/* Returns the reason as text, for "N are not covered: ...". */
const char *hv_irq_cover_reason(enum hv_irq_cover cover);
