/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds where the kernel saves the registers of a program: at the end of its task's stack, but some
 * kernels leave words free after them. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct hv_kernel;

/* Finds the distance of the saved registers from the start of a task's stack, from the stacks of the
 * tasks that exist now. 0: the architecture does not support it, or the stacks do not show it. */
struct hv_err *hv_user_regs_find(struct hv_kernel *k, uint32_t *ret_off) hv_must_use;
