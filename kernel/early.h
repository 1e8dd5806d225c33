/* A kernel that is only starting: what can be told before hv_kernel_open can tell all. */
#pragma once

#include "kernel/core.h"

/* Address of a function or variable of the kernel that a vCPU runs, by its own names. The guest
 * should stand. */
struct hv_err *hv_early_symbol(struct hv_guest *g, const char *name,
			       struct hv_gva *ret) hv_must_use;
/* Where the function that a standing vCPU 0 is about to execute will return to. */
struct hv_err *hv_early_return(struct hv_guest *g, struct hv_gva *ret) hv_must_use;

/* Whether some vCPU is in code or on traps of a kernel image: a cheap look before a long one. */
bool hv_early_in_kernel(struct hv_guest *g);
/* Whether the kernel is up: its init code is gone. */
bool hv_early_is_up(const struct hv_kernel_core *core);
