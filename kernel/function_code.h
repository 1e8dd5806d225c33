/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of a function of the core kernel, in hvtrace's copy of the image, and strings of the
 * kernel's that it refers to. By these one can tell what a function does where neither a type nor a
 * symbol says it.
 * Leaves to others: instructions (arch/arch.h). */
#pragma once

#include <stdbool.h>

#include "kernel/core.h"

/* The code of the function that begins at START, up to the next symbol, but MAX_BYTES at most. */
struct hv_span hv_function_code(const struct hv_kernel_core *core, struct hv_gva start,
				size_t max_bytes);

/* Whether some bytes of the code of FUNCTION may be the address of a string that is TEXT. False
 * where the function is not known, or the architecture's references are not. */
bool hv_function_refers_to(const struct hv_kernel_core *core, const char *function,
			   const char *text);
