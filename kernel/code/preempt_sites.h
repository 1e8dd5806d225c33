/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions where the kernel and its modules disable and enable preemption: each adds a
 * constant to the preempt count or subtracts it in a single instruction (inc, dec, add, sub of
 * __preempt_count). A kernel with the preemptoff tracer built in, or with DEBUG_PREEMPT, instead
 * has functions such as preempt_count_add() and preempt_count_sub(), which add and subtract a
 * register. Found in the running text, function by function. Instructions that cannot or should not
 * be replaced by a jump are listed with the reason.
 *
 * Not listed: other instructions that add a register, which the kernel uses only while the count
 * stays above 0 (__local_bh_enable_ip), and instructions that write the whole count
 * (preempt_count_set). tracer/ replaces the instructions. */
#pragma once

#include "arch/detour.h"
#include "base/err.h"

struct hv_kernel;

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
