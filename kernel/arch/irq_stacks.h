/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPU stacks of architectures with two of them: one for interrupts, which the per-CPU irq_stack_ptr
 * points to, and one for exceptions on a full stack, the per-CPU overflow_stack. */
#pragma once

#include "kernel/arch/kernel_arch.h"

/* Implements read_stacks of struct hv_kernel_arch. */
struct hv_err *hv_irq_stacks_read(const struct hv_kernel_core *core, unsigned cpu,
				  uint64_t irq_stack_bytes, struct hv_cpu_stack *ret,
				  size_t *ret_nr) hv_must_use;

/* Implements find_irq_stack of struct hv_kernel_arch. */
struct hv_err *hv_irq_stacks_find(const struct hv_kernel_core *core, uint64_t irq_stack_bytes,
				  uint64_t *ret) hv_must_use;
