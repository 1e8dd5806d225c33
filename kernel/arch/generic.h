/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that several architectures put into their tables (kernel_arch.h) unchanged, for per-CPU
 * variables, stacks and the clock. */
#pragma once

#include "kernel/arch/kernel_arch.h"

/* For architectures with the current task in a register: struct thread_info at the task's start
 * holds the CPU number and the preempt count, which other architectures keep in per-CPU variables.
 * arch/ knows the register.
 *
 * Implements find_percpu of struct hv_kernel_arch. PREEMPT_COUNT is the member of struct
 * task_struct with the preempt count. */
struct hv_err *hv_thread_info_percpu(const struct hv_kernel_core *core, const char *preempt_count,
				     struct hv_percpu_layout *ret) hv_must_use;

/* CPU stacks of architectures with two of them: one for interrupts, which the per-CPU irq_stack_ptr
 * points to, and one for exceptions on a full stack, the per-CPU overflow_stack. */
/* Implements read_stacks of struct hv_kernel_arch. */
struct hv_err *hv_irq_stacks_read(const struct hv_kernel_core *core, unsigned cpu,
				  uint64_t irq_stack_bytes, struct hv_cpu_stack *ret,
				  size_t *ret_nr) hv_must_use;

/* Implements find_irq_stack of struct hv_kernel_arch. */
struct hv_err *hv_irq_stacks_find(const struct hv_kernel_core *core, uint64_t irq_stack_bytes,
				  uint64_t *ret) hv_must_use;

/* The size of a task's stack (THREAD_SIZE), a build-time constant of the kernel. tasks.h and
 * kernel_arch.h locate stacks. */
uint32_t hv_stack_bytes(const struct hv_kernel_core *core);
/* Like hv_stack_bytes(), but fails with ENOENT in kernels without names of data if the size is
 * unknown. */
struct hv_err *hv_stack_bytes_read(const struct hv_kernel_core *core, uint32_t *ret) hv_must_use;

/* sched_clock() of a kernel with CONFIG_GENERIC_SCHED_CLOCK: a counter scaled by the struct
 * clock_data `cd`, for all CPUs. The caller names the counter.
 *
 * READER is part of the name of the kernel's function that reads the counter that records use.
 * COUNTER_NAME is the counter's name as a clocksource. The caller frees *RET with free(). *RET is
 * NULL if the kernel uses another counter or an unknown scale. */
struct hv_err *hv_clock_data_find(const struct hv_kernel_core *core, const char *reader,
				  const char *counter_name,
				  struct hv_clock_source **ret) hv_must_use;

/* Returns whether the data at AT can only be sched_clock's `cd`. For kernels without a symbol for
 * it. */
bool hv_clock_data_is_at(const struct hv_kernel_core *core, struct hv_gva at);
