/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kernel that is booting: information available before hv_kernel_open() succeeds. */
#pragma once

#include "kernel/core/core.h"

/* Finds a function or variable of the kernel that a vCPU runs, by the symbols in its image. The
 * vCPUs should be stopped. */
struct hv_err *hv_early_symbol(struct hv_guest *g, const char *name,
			       struct hv_gva *ret) hv_must_use;
/* Finds the return address of the function at whose first instruction vCPU 0 is stopped. */
struct hv_err *hv_early_return(struct hv_guest *g, struct hv_gva *ret) hv_must_use;

/* Returns whether a vCPU executes at an address where kernel images are, or has a trap table at a
 * kernel address. Cheap; try it before a full search. */
bool hv_early_in_kernel(struct hv_guest *g);
/* Returns whether the kernel has booted and freed its init code. Without BTF, whether it has patched
 * its code for this CPU, or does not show its state. */
bool hv_early_is_up(const struct hv_kernel_core *core);
