/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of core-kernel functions, in hvtrace's copy of the image, and the kernel strings that
 * the code refers to. This identifies what a function does when types and symbols are missing. The
 * form of the preempt count is derived from such code. arch/arch.h decodes instructions. */
#pragma once

#include <stdbool.h>

#include "arch/detour.h"
#include "kernel/core/core.h"

/* Returns the code from START to the next symbol, at most MAX_BYTES. */
struct hv_span hv_function_code(const struct hv_kernel_core *core, struct hv_gva start,
				size_t max_bytes);

/* Reads the bytes at each offset of FUNCTION's code as an address, and finds the first one for
 * which IS_IT returns true. Returns false if there is none, or if the function or the
 * architecture's references are unknown. */
bool hv_function_find_reference(const struct hv_kernel_core *core, const char *function,
				bool (*is_it)(const struct hv_kernel_core *core, struct hv_gva at,
					      const void *ctx),
				const void *ctx, struct hv_gva *ret);

/* Returns whether bytes in the code of FUNCTION may be the address of a string equal to TEXT. False
 * if the function or the architecture's references are unknown. */
bool hv_function_refers_to(const struct hv_kernel_core *core, const char *function,
			   const char *text);

/* Returns whether bytes in the code of FUNCTION may be the address AT, which may be per-CPU. False
 * if the function or the architecture's references are unknown. */
bool hv_function_uses(const struct hv_kernel_core *core, const char *function, struct hv_gva at);

/* The form of the kernel's preempt count, derived from the code that changes it. PERCPU is the
 * per-CPU offset of the count. arch/preempt_count.h interprets its bits. */

/* Finds the first instruction of FUNCTION, a symbol in the kernel's text, that changes the count by
 * at least LEAST. With LEAST 0, also finds an instruction whose amount is in a register and
 * therefore unknown. Returns false if there is no such instruction or the architecture has no
 * decoder. */
bool hv_preempt_count_insn(const struct hv_kernel_core *core, uint64_t percpu, const char *function,
			   uint32_t least, struct hv_count_insn *ret);

/* Returns count_shift of struct hv_context_bits, from the amount that an interrupt adds on
 * entry. */
uint8_t hv_preempt_count_shift(const struct hv_kernel_core *core, uint64_t percpu);

/* Returns whether the count has 64 bits, judging by the instructions that disable preemption. */
bool hv_preempt_count_is_wide(const struct hv_kernel_core *core, uint64_t percpu);

/* A function that exists in every kernel. In kernels with CONFIG_PREEMPT_COUNT it disables
 * preemption, with an inline instruction or a call of preempt_count_add(). */
#define HV_PREEMPT_COUNTS	  "_raw_spin_lock"
#define HV_PREEMPT_COUNTS_BY_CALL "preempt_count_add"
