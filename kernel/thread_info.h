/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Architectures on which the current task is in a register and its struct thread_info, at its
 * start, has what others keep in variables of each CPU: the CPU's number and the preempt count.
 * Leaves to others: which register it is (arch/). */
#pragma once

#include "kernel/kernel_arch.h"

/* As find_percpu of struct hv_kernel_arch. PREEMPT_COUNT: the member of struct task_struct with the
 * preempt count. */
struct hv_err *hv_thread_info_percpu(const struct hv_kernel_core *core, const char *preempt_count,
				     struct hv_percpu_places *ret) hv_must_use;
