/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the kernel and its modules switch preemption off and on: the instructions that add a
 * constant to the preempt count or subtract it, each of them a single one (inc, dec, add, sub of
 * __preempt_count). A kernel with the tracer preemptoff built in, or with DEBUG_PREEMPT, has
 * functions for that instead, as preempt_count_add() and preempt_count_sub(), which add and
 * subtract a register. They are found in the running text, function by function. An instruction
 * that cannot be replaced by a jump, or should not be, is listed with the reason.
 *
 * Not listed: other instructions that add a register, which the kernel has where it keeps the count
 * above 0 (__local_bh_enable_ip), and those that write the whole count (preempt_count_set). Leaves
 * to others: replacing them (tracer/). */
#pragma once

#include "arch/detour.h"
#include "base/err.h"

struct hv_kernel;

enum hv_preempt_cover {
	HV_PREEMPT_COVERED,
	HV_PREEMPT_OF_NMIS,	 /* counts NMIs: a section may be being noted meanwhile */
	HV_PREEMPT_IN_ENTRY,	 /* in the entry code, which may run with the user's per-CPU base */
	HV_PREEMPT_IN_TWO_PAGES, /* no single write can change it */
	HV_PREEMPT_IN_NO_FUNCTION, /* no symbol says where its function begins */
	HV_PREEMPT_NO_INSN,	   /* bytes that look like it, inside other instructions */
	HV_PREEMPT_NOT_UNDERSTOOD, /* an instruction before it is not known */
	HV_PREEMPT_JUMPED_INTO,	   /* a jump leads into it */
	HV_PREEMPT_FLAGS_USED,	   /* what follows depends on flags that a detour does not keep */
	HV_PREEMPT_NR_COVERS
};

struct hv_preempt_site {
	struct hv_gva at;
	struct hv_count_insn count;
	uint8_t insn[HV_DETOUR_INSN_MAX]; /* as it was found */
	enum hv_preempt_cover cover;
	/* It subtracts, and an instruction of the same function that adds is not covered. */
	bool misses_beginning;
	bool has_caller;     /* the address that the function returns to is in the word */
	uint32_t caller_off; /* so many bytes above the stack pointer */
};

struct hv_preempt_sites {
	struct hv_preempt_site *list; /* owned, sorted by address within the kernel and a module */
	size_t nr;
	size_t nr_of[HV_PREEMPT_NR_COVERS];
};

/* The bit of the count that is not part of it (PREEMPT_NEED_RESCHED). */
#define HV_PREEMPT_FLAG 0x80000000u

/* Whether the kernel counts where preemption is off (CONFIG_PREEMPT_COUNT): a function that always
 * counts, if the kernel does, has such an instruction. */
bool hv_preempt_is_counted(const struct hv_kernel *k);

/* Whether AT is in one of these functions that count for all others: who switches preemption off
 * or on is their caller. */
bool hv_preempt_is_in_counter(const struct hv_kernel *k, struct hv_gva at);

/* EOPNOTSUPP: the kernel does not count (CONFIG_PREEMPT_COUNT), or is still starting. */
struct hv_err *hv_preempt_sites_read(const struct hv_kernel *k,
				     struct hv_preempt_sites *ret) hv_must_use;
void hv_preempt_sites_deinit(struct hv_preempt_sites *s);

/* Returns the reason in words, for "N are not covered: ...". */
const char *hv_preempt_cover_reason(enum hv_preempt_cover cover);
