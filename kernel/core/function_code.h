/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of core-kernel functions, in hvtrace's copy of the image, and the kernel strings that
 * the code refers to. This identifies what a function does when types and symbols are missing.
 * arch/arch.h decodes instructions. */
#pragma once

#include <stdbool.h>

#include "kernel/core/core.h"

/* Returns the code from START to the next symbol, at most MAX_BYTES. */
struct hv_span hv_function_code(const struct hv_kernel_core *core, struct hv_gva start,
				size_t max_bytes);

/* Returns whether bytes in the code of FUNCTION may be the address of a string equal to TEXT. False
 * if the function or the architecture's references are unknown. */
bool hv_function_refers_to(const struct hv_kernel_core *core, const char *function,
			   const char *text);
