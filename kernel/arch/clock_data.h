/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sched_clock() of a kernel with CONFIG_GENERIC_SCHED_CLOCK: a counter scaled by the struct
 * clock_data `cd`, for all CPUs. The caller names the counter. */
#pragma once

#include "kernel/arch/clock_source.h"
#include "kernel/core/core.h"

/* READER is part of the name of the kernel's function that reads the counter that records use.
 * COUNTER_NAME is the counter's name as a clocksource. The caller frees *RET with free(). *RET is
 * NULL if the kernel uses another counter or an unknown scale. */
struct hv_err *hv_clock_data_find(const struct hv_kernel_core *core, const char *reader,
				  const char *counter_name,
				  struct hv_clock_source **ret) hv_must_use;

/* Returns whether the data at AT can only be sched_clock's `cd`. For kernels without a symbol for
 * it. */
bool hv_clock_data_is_at(const struct hv_kernel_core *core, struct hv_gva at);
