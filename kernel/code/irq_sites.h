/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions where the kernel and its modules disable and enable interrupts, and where the
 * kernel is entered and left with interrupts off. Found in the running text, function by function.
 * Instructions that cannot or need not be replaced are listed with the reason.
 *
 * A kernel that can run on Xen (CONFIG_PARAVIRT_XXL, as distributions build it) has nops after each
 * `cli` and `sti`: together they are as long as the call that was there before boot. So the
 * instruction and its nops can become a jump. The entry code has direct calls and jumps that can be
 * retargeted. tracer/ replaces the instructions. */
#pragma once

#include "arch/detour.h"
#include "base/err.h"

struct hv_kernel;

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
