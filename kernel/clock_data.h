/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sched_clock() of a kernel with CONFIG_GENERIC_SCHED_CLOCK: a counter, scaled by the struct
 * clock_data `cd`, for all CPUs. Leaves to others: which counter it is. */
#pragma once

#include "kernel/clock_source.h"
#include "kernel/core.h"

/* READER: part of the name of the kernel's function that reads the counter of which records have
 * the value. COUNTER_NAME: what the kernel calls it as a clocksource. The caller frees *RET with
 * free(). *RET is NULL when the kernel's clock is another counter, or is not understood. */
struct hv_err *hv_clock_data_find(const struct hv_kernel_core *core, const char *reader,
				  const char *counter_name,
				  struct hv_clock_source **ret) hv_must_use;

/* Whether what is at AT can only be such data (sched_clock's `cd`). For a kernel that does not name
 * it. */
bool hv_clock_data_is_at(const struct hv_kernel_core *core, struct hv_gva at);
