/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the guest's kernel converts the counter of a CPU to ns. All code calls the counter tsc, as on
 * x86-64, whatever the architecture is. Private to kernel/, except enum hv_clock_kind.
 * Leaves to others: the conversion itself (clock.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

enum hv_clock_kind {
	HV_CLOCK_TSC,	  /* the kernel measured the scale itself */
	HV_CLOCK_PVCLOCK, /* the hypervisor gives the scale */
	HV_CLOCK_RAW,	  /* the kernel's scale is not known: the counter is shown as it is */
	HV_CLOCK_HOST,	  /* not the guest's clock: the host's was chosen instead, in ns */
};

/* The kind in words, for users and programs. */
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
 * and may be anything. */
struct hv_clock_scale {
	uint64_t base_tsc;
	uint64_t base_ns;
	uint32_t mul; /* 0: there is no scale yet */
	uint32_t shift;
	uint8_t up;
	uint8_t down;
};

struct hv_kernel_core;

/* Where a kernel keeps the scales of its CPUs. Each kind of source has a struct of its own, which
 * begins with this one. */
struct hv_clock_source {
	enum hv_clock_kind kind;
	/* The clocksource of the kernel whose cycles are the counter; and the one, or NULL, whose
	 * cycles are this clock's ns and an offset. */
	const char *counter_name, *ns_name;
	/* The offset; NULL if there is no NS_NAME. */
	struct hv_err *(*read_offset)(const struct hv_clock_source *source,
				      const struct hv_kernel_core *core, uint64_t *ret_ns);
	/* The scale of CPU now. *RET is untouched, or its mul is 0, when CPU has none yet. */
	struct hv_err *(*read)(const struct hv_clock_source *source,
			       const struct hv_kernel_core *core, unsigned cpu,
			       struct hv_clock_scale *ret);
};
