/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the guest's kernel converts the counter of a CPU to ns. The code calls the counter tsc on all
 * architectures. Private to kernel/, except enum hv_clock_kind. The second part is the source that
 * arm64 and riscv64 use. clock.h does the conversion. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "kernel/core/core.h"

enum hv_clock_kind {
	HV_CLOCK_TSC,	  /* the kernel measured the scale itself */
	HV_CLOCK_PVCLOCK, /* the hypervisor provides the scale */
	HV_CLOCK_RAW,	  /* the scale is unknown: times are raw counter values */
	HV_CLOCK_HOST,	  /* not the guest's clock: the user chose the host's, in ns */
};

/* Returns a name of KIND for users and programs. */
static inline const char *hv_clock_kind_name(enum hv_clock_kind kind)
{
	static const char *const names[] = {
		[HV_CLOCK_TSC] = "tsc",
		[HV_CLOCK_PVCLOCK] = "pvclock",
		[HV_CLOCK_RAW] = "raw tsc",
		[HV_CLOCK_HOST] = "host",
	};

	return names[kind];
}

/* ns = base_ns + ((tsc - base_tsc) << up >> down) * mul >> shift. All numbers come from the guest
 * and are untrusted. */
struct hv_clock_scale {
	uint64_t base_tsc;
	uint64_t base_ns;
	uint32_t mul; /* 0: no scale yet */
	uint32_t shift;
	uint8_t up;
	uint8_t down;
};

/* Where a kernel keeps the scales of its CPUs. Base of the struct of each kind of source. */
struct hv_clock_source {
	enum hv_clock_kind kind;
	/* Names of clocksources of the kernel: the one whose cycles are the counter, and the one
	 * whose cycles are this clock's ns plus an offset (or NULL). */
	const char *counter_name, *ns_name;
	/* Returns the offset. NULL if ns_name is NULL. */
	struct hv_err *(*read_offset)(const struct hv_clock_source *source,
				      const struct hv_kernel_core *core, uint64_t *ret_ns);
	/* Returns CPU's current scale. If CPU does not have one yet, *RET is unchanged or its mul
	 * is 0. */
	struct hv_err *(*read)(const struct hv_clock_source *source,
			       const struct hv_kernel_core *core, unsigned cpu,
			       struct hv_clock_scale *ret);
};

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
