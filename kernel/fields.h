/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of guest structures: finds them through BTF, and reads them from one copy of the
 * structure. Private to kernel/. */
#pragma once

#include "base/bytes.h"
#include "kernel/core.h"

struct hv_field {
	const char *path;
	uint32_t len_bytes; /* least size the member must have */
	uint32_t *off;
};

/* Fails with ENOENT; the message names the member that is not there or is too small. */
struct hv_err *hv_fields_find(const struct hv_kernel_core *core, const char *type,
			      const struct hv_field *fields, size_t nr) hv_must_use;

/* Whether CPU's bit is set in the mask of CPUs with the symbol MASK ("__cpu_possible_mask"). True
 * when the kernel has no such mask. */
bool hv_cpu_in(const struct hv_kernel_core *core, const char *mask, unsigned cpu);

/* Detects a cycle in a list by Brent's algorithm. A zeroed struct is valid at the start; each
 * address of the walk is passed to it, and the result is true when the list has a cycle. That is
 * noticed within twice the length of the cycle and of what leads to it. */
struct hv_circle {
	uint64_t mark;
	uint32_t steps;
	uint32_t limit;
};
bool hv_circle_step(struct hv_circle *c, uint64_t addr);

/* Little-endian numbers from a copy; 0 when they are outside of it. */
uint64_t hv_copy_u64(struct hv_span copy, uint32_t off);
uint32_t hv_copy_u32(struct hv_span copy, uint32_t off);
