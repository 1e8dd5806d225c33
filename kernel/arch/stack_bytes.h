/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The size of a task's stack (THREAD_SIZE), a build-time constant of the kernel. tasks.h and
 * kernel_arch.h locate stacks. */
#pragma once

#include "kernel/core/core.h"

uint32_t hv_stack_bytes(const struct hv_kernel_core *core);
/* Like hv_stack_bytes(), but fails with ENOENT in kernels without names of data if the size is
 * unknown. */
struct hv_err *hv_stack_bytes_read(const struct hv_kernel_core *core, uint32_t *ret) hv_must_use;
