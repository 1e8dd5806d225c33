/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's preempt count looks like, from the code that changes it. PERCPU is the per-CPU
 * offset of the count. Leaves to others: what its bits mean (arch/preempt_count.h). */
#pragma once

#include "arch/detour.h"
#include "kernel/core.h"

/* Finds the first instruction of FUNCTION, a symbol of the kernel's text, that counts at least
 * LEAST; that of a register has no amount, and is found for LEAST 0. False: there is none, or none
 * is known on this architecture. */
bool hv_preempt_count_insn(const struct hv_kernel_core *core, uint64_t percpu, const char *function,
			   uint32_t least, struct hv_count_insn *ret);

/* count_shift of struct hv_context_bits: by what an interrupt adds to the count when it begins. */
uint8_t hv_preempt_count_shift(const struct hv_kernel_core *core, uint64_t percpu);

/* Whether the count has 64 bits: by the instructions by which preemption is switched off. */
bool hv_preempt_count_is_wide(const struct hv_kernel_core *core, uint64_t percpu);

/* A function of every kernel, which switches preemption off where the kernel counts that, by an
 * instruction of its own or by a call of the other function. */
#define HV_PREEMPT_COUNTS	  "_raw_spin_lock"
#define HV_PREEMPT_COUNTS_BY_CALL "preempt_count_add"
