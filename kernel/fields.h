/* Members of guest structures found through BTF, and read from one copy of the structure.
 * Private to kernel/. */
#pragma once

#include "base/bytes.h"
#include "kernel/core.h"

struct hv_field {
	const char *path;
	uint32_t len_bytes; /* least size the member must have */
	uint32_t *off;
};

/* ENOENT names the member that is not there or too small. */
struct hv_err *hv_fields_find(const struct hv_kernel_core *core, const char *type,
			      const struct hv_field *fields, size_t nr) hv_must_use;

/* Whether CPU is in a mask of the kernel's ("__cpu_possible_mask"). True when there is no such
 * mask. */
bool hv_cpu_in(const struct hv_kernel_core *core, const char *mask, unsigned cpu);

/* Notices that a list goes round (Brent): zero-initialised, told each address of the walk. True: it
 * does. A circle is found within twice its length and what leads to it. */
struct hv_circle {
	uint64_t mark;
	uint32_t steps;
	uint32_t limit;
};
bool hv_circle_step(struct hv_circle *c, uint64_t addr);

/* Little-endian numbers out of a copy; 0 when outside of it. */
uint64_t hv_copy_u64(struct hv_span copy, uint32_t off);
uint32_t hv_copy_u32(struct hv_span copy, uint32_t off);
