/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detours in a guest: jumps in the guest's code to code in the region that executes the replaced
 * instructions, and calls retargeted to such code (arch/detour.h).
 *
 * A detour stays in the region because a task may have been interrupted in it. If the same
 * instruction is replaced again, its old detour is reused. Unused detours, which no jump leads to
 * and no task is in, are freed only when there is no room for another detour of a probe site
 * (detours_code.h).
 *
 * section_tracer.h and probe_sites.h choose the instructions; attach.c unmaps the code. One
 * thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour.h"
#include "base/err.h"
#include "patcher/region.h"

struct hv_detours;
struct hv_journal_entry;
struct hv_tracee;

/* An instruction to replace, and the function of its detour. */
struct hv_detour_want {
	enum hv_detour_kind kind;
	struct hv_gva at;
	size_t len_bytes; /* length of the instruction */
	uint8_t insn[HV_DETOUR_INSN_MAX];
	struct hv_gva calls; /* target of a call, jump or branch */
	/* For HV_DETOUR_ENDS and HV_DETOUR_IRQS_ON: the section may have begun where hvtrace does
	 * not see it. */
	bool misses_beginning;
	bool has_caller; /* see struct hv_detour */
	uint32_t caller_off;
	struct hv_count_insn count; /* for an instruction that counts */
	/* For HV_DETOUR_PROBE_SITE and HV_DETOUR_ENTRY: */
	unsigned nr_insns; /* number of instructions in INSN */
	struct hv_detour_probe probes[HV_DETOUR_PROBES_MAX];
	unsigned nr_probes;
	/* The want is refused unless AT leads to another detour, whose jump is then replaced. */
	bool leads_already;
	bool is_refused; /* set by hv_detours_patch() */
};

/* Borrows T. KIND is HV_CHANGE_DETOUR, or HV_CHANGE_PROBE_SITE, which only takes
 * HV_DETOUR_PROBE_SITE and HV_DETOUR_ENTRY. Each kind has its own part of the region, so create one
 * object per kind. */
struct hv_detours *hv_detours_new(struct hv_tracee *t, enum hv_change_kind kind);
void hv_detours_free(struct hv_detours *d);

/* Creates detours and replaces the instructions. *RET_REFUSED is the number of instructions that
 * were not replaced because the guest changed them or there is no room.
 *
 * An instruction is replaced together with the nops after it. Several instructions are replaced
 * together in a hold in which no task is between them; EBUSY: a task was between them at each
 * attempt. A probe site that leads to another detour then leads to the new one. On errors nothing
 * in WANTS is replaced any longer; but if a detour could not be written, nothing was changed. */
struct hv_err *hv_detours_patch(struct hv_detours *d, struct hv_detour_want *wants, size_t nr,
				size_t *ret_refused) hv_must_use;
/* Replaces the instructions of WANTS, which are HV_DETOUR_PROBE_SITE and do not overlap, and
 * restores the instructions at GONE, which WANTS may overlap, in one hold, so that no task executes
 * a mixture of both. Makes all changes or none: *RET_REFUSED is true if none, also when a task was
 * between the instructions at each attempt. On errors nothing in WANTS or GONE is replaced any
 * longer; but if a detour could not be written, nothing was changed. */
struct hv_err *hv_detours_exchange(struct hv_detours *d, struct hv_detour_want *wants, size_t nr,
				   const struct hv_gva *gone, size_t nr_gone,
				   bool *ret_refused) hv_must_use;
/* When there is no room for another detour of a probe site, hvtrace searches for free ones in a
 * hold. If it finds none, it does not search again until this is called. Call it before each set of
 * changes to probe sites. */
void hv_detours_look_again(struct hv_detours *d);
/* Finds the guest instruction whose detour contains the address with the low 32 bits LOW_BITS. */
bool hv_detours_find(const struct hv_detours *d, uint32_t low_bits, struct hv_gva *ret);

/* Restores every instruction of KIND, including instructions that a dead session replaced, except
 * where KEEPS returns true (NULL: no exceptions). *RET_NR is the number restored. EBUSY: the guest
 * changed the bytes of one (a breakpoint), which may still lead to a detour. The others are
 * restored; retry later. */
typedef bool (*hv_keeps_fn)(void *ctx, struct hv_gva at);
struct hv_err *hv_detours_put_back(struct hv_tracee *t, enum hv_change_kind kind, hv_keeps_fn keeps,
				   void *ctx, size_t *ret_nr) hv_must_use;
/* Sets *RET to whether E, an entry of an untrusted journal, describes one of our detours. The code
 * at E must lead into our range now, and E must restore one of these:
 *
 *   - an instruction that counts preemption or switches interrupts
 *   - a call of hv_idle_functions
 *   - a jump or call from or into the kernel's entry code, or an unused alternative there
 *   - for HV_CHANGE_PROBE_SITE, exactly the instructions that the detour executes
 *
 * The bytes in the guest become E's new ones. */
struct hv_err *hv_detours_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				   bool *ret) hv_must_use;

/* The functions that the kernel calls before and after a CPU is idle. */
extern const char *const hv_idle_functions[2];
