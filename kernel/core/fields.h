/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of guest structures: finds them through BTF and reads them from one copy of the
 * structure. Private to kernel/. */
#pragma once

#include "base/bytes.h"
#include "kernel/core/core.h"

struct hv_field {
	const char *path;
	uint32_t len_bytes; /* minimum size of the member */
	uint32_t *off;
};

/* Fails with ENOENT; the message names the member that is missing or too small. */
struct hv_err *hv_fields_find(const struct hv_kernel_core *core, const char *type,
			      const struct hv_field *fields, size_t nr) hv_must_use;

/* Returns whether CPU's bit is set in the CPU mask with the symbol MASK ("__cpu_possible_mask").
 * True if the kernel has no such mask. */
bool hv_cpu_in(const struct hv_kernel_core *core, const char *mask, unsigned cpu);

/* Detects a cycle in a list with Brent's algorithm. Start with a zeroed struct and pass each
 * address of the walk to hv_circle_step(), which returns true if the list has a cycle. It detects
 * the cycle within twice the length of the cycle and the path to it. */
struct hv_circle {
	uint64_t mark;
	uint32_t steps;
	uint32_t limit;
};
bool hv_circle_step(struct hv_circle *c, uint64_t addr);

/* Little-endian numbers from a copy; 0 if outside. */
uint64_t hv_copy_u64(struct hv_span copy, uint32_t off);
uint32_t hv_copy_u32(struct hv_span copy, uint32_t off);
