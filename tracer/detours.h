/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detours in a guest: instructions that are replaced by a jump to code of ours, and calls that call
 * such code instead (arch/detour.h). A detour that was made stays, since a task may have been
 * interrupted in it. So an instruction that is replaced again gets the same one. Only when there is
 * no room for another detour of a place, those give theirs up to which nothing leads any more and
 * in which nobody is (detours_code.h). Leaves to others: which instructions (section_tracer.h),
 * when the code is unmapped (detach.c). One thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/detour.h"
#include "base/err.h"
#include "patcher/region.h"

struct hv_detours;
struct hv_probe_place;
struct hv_journal_entry;
struct hv_tracee;

/* What is to be replaced, and what its detour does. */
struct hv_detour_want {
	enum hv_detour_kind kind;
	struct hv_gva at;
	size_t len_bytes; /* of the instruction */
	uint8_t insn[HV_DETOUR_INSN_MAX];
	struct hv_gva calls; /* of a call, jump or branch: its target */
	/* Of HV_DETOUR_ENDS and HV_DETOUR_IRQS_ON: what it ends may have begun where it is not
	 * seen. */
	bool misses_beginning;
	bool has_caller; /* see struct hv_detour */
	uint32_t caller_off;
	struct hv_count_insn count; /* of an instruction that counts */
	/* Of HV_DETOUR_PLACE: */
	unsigned nr_insns; /* how many INSN has */
	struct hv_detour_probe probes[HV_DETOUR_PROBES_MAX];
	unsigned nr_probes;
	bool leads_already; /* there, to another detour; otherwise it is refused */
	bool is_refused;    /* hv_detours_patch() sets it */
};

/* Borrows T. KIND: HV_CHANGE_DETOUR, or HV_CHANGE_PLACE, of HV_DETOUR_PLACE only. Each has a part
 * of the region, so there is one of a kind. */
struct hv_detours *hv_detours_new(struct hv_tracee *t, enum hv_change_kind kind);
void hv_detours_free(struct hv_detours *d);

/* Makes detours and replaces the instructions. *RET_REFUSED is how many were not replaced: the
 * guest changed them, or there is no room. An instruction is replaced together with the nops behind
 * it, and several are, in a hold in which no task was interrupted between them; EBUSY: one is,
 * whenever that is tried. A place that leads to another detour leads to the new one afterwards. On
 * errors nothing that WANTS has is replaced any more; but if a detour could not be written, nothing
 * was changed. */
struct hv_err *hv_detours_patch(struct hv_detours *d, struct hv_detour_want *wants, size_t nr,
				size_t *ret_refused) hv_must_use;
/* Replaces the instructions of WANTS, which are HV_DETOUR_PLACE and do not overlap, and puts back
 * first what leads to detours at GONE, where WANTS may overlap it: in one hold, so that nobody
 * executes what belongs to neither. All of it is done, or nothing: then *RET_REFUSED is true, as
 * when some task always is between the instructions. On errors nothing that WANTS or GONE has is
 * replaced any more; but if a detour could not be written, nothing was changed. */
struct hv_err *hv_detours_exchange(struct hv_detours *d, struct hv_detour_want *wants, size_t nr,
				   const struct hv_gva *gone, size_t nr_gone,
				   bool *ret_refused) hv_must_use;
/* Whether detours of places are free is looked for, in a hold, when there is no room for another
 * one. If none is, that is so until this is called: before the changes of places that belong
 * together. */
void hv_detours_look_again(struct hv_detours *d);
/* Finds the place in the guest of the detour that has PLACE, the low half of an address. */
bool hv_detours_find(const struct hv_detours *d, uint32_t place, struct hv_gva *ret);

/* Where the guest sees the first detour of KIND. */
struct hv_gva hv_detours_start(const struct hv_tracee *t, enum hv_change_kind kind);

/* Puts every instruction of KIND back, also those of a session that recover undoes; of those that
 * KEEPS, which may be NULL, says are to stay, none. *RET_NR is how many were put back. EBUSY: the
 * guest has bytes of its own at one (a breakpoint), which may lead to a detour still. Then the
 * others are put back, and this can be tried again. */
typedef bool (*hv_keeps_fn)(void *ctx, struct hv_gva at);
struct hv_err *hv_detours_put_back(struct hv_tracee *t, enum hv_change_kind kind, hv_keeps_fn keeps,
				   void *ctx, size_t *ret_nr) hv_must_use;
/* *RET: E, an entry of an untrusted journal, is such a place: it leads to our range now, and the
 * journal would restore an instruction that counts preemption or switches interrupts, a call of the
 * idle loop, or a jump or call from or into the kernel's entry code; of HV_CHANGE_PLACE, the very
 * instructions that the detour executes. Changes E as hv_tracee_is_patched() does. */
struct hv_err *hv_detours_are_ours(const struct hv_tracee *t, struct hv_journal_entry *e,
				   bool *ret) hv_must_use;

/* The functions that the kernel calls before and after a CPU is idle. */
extern const char *const hv_idle_functions[2];
