/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The length of a task's stack (THREAD_SIZE), a constant of the kernel's build. Leaves to others:
 * where stacks are (tasks.h, kernel_arch.h). */
#pragma once

#include "kernel/core.h"

uint32_t hv_stack_bytes(const struct hv_kernel_core *core);
/* Likewise. Where names of data are missing, the length is known or the kernel is refused: ENOENT.
 */
struct hv_err *hv_stack_bytes_read(const struct hv_kernel_core *core, uint32_t *ret) hv_must_use;
