/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of the x86-64 kernel table, grouped by source file. */
#pragma once

#include "kernel/arch/kernel_arch.h"

/* percpu.c */
struct hv_err *x86_64_find_percpu(const struct hv_kernel_core *core,
				  struct hv_percpu_places *ret) hv_must_use;
/* Finds the per-CPU variable SYMBOL or the member HOT_MEMBER of struct pcpu_hot, which contains it
 * from 6.2 to 6.14. HOT_MEMBER may be NULL. Returns false if the kernel has neither. */
bool x86_64_percpu_variable(const struct hv_kernel_core *core, const char *symbol,
			    const char *hot_member, uint64_t *ret);

/* stacks.c */
struct hv_err *x86_64_find_irq_stack(const struct hv_kernel_core *core, uint64_t *ret) hv_must_use;
struct hv_err *x86_64_check_exception_stacks(const struct hv_kernel_core *core) hv_must_use;
struct hv_err *x86_64_read_stacks(const struct hv_kernel_core *core, unsigned cpu,
				  struct hv_cpu_stack *ret, size_t *ret_nr) hv_must_use;

/* cpu_flags.c */
bool x86_64_has_kpti(const struct hv_kernel_core *core);
bool x86_64_enters_elsewhere(const struct hv_kernel_core *core);
bool x86_64_jumps_bare(const struct hv_kernel_core *core);

/* kprobes.c */
bool x86_64_skips_exceptions(const struct hv_kernel_core *core);

/* clock.c */
struct hv_err *x86_64_find_clock(const struct hv_kernel_core *core,
				 struct hv_clock_source **ret) hv_must_use;
