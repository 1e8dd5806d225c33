/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For architectures with the current task in a register: struct thread_info at the task's start
 * holds the CPU number and the preempt count, which other architectures keep in per-CPU variables.
 * arch/ knows the register. */
#pragma once

#include "kernel/arch/kernel_arch.h"

/* Implements find_percpu of struct hv_kernel_arch. PREEMPT_COUNT is the member of struct
 * task_struct with the preempt count. */
struct hv_err *hv_thread_info_percpu(const struct hv_kernel_core *core, const char *preempt_count,
				     struct hv_percpu_places *ret) hv_must_use;
