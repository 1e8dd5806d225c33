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

/* Finds the first of the NR members PATHS that TYPE has. ENOENT: it has none of them; the message
 * names the first one. */
struct hv_err *hv_member_find_any(const struct hv_kernel_core *core, const char *type,
				  const char *const *paths, size_t nr,
				  uint32_t *ret_off) hv_must_use;
/* Finds the owner in struct mutex, which is 0 while the mutex is free. With PREEMPT_RT a mutex is a
 * different structure. Fails with ENOENT. */
struct hv_err *hv_mutex_owner_find(const struct hv_kernel_core *core,
				   uint32_t *ret_off) hv_must_use;
/* Finds the size of TYPE. ENOENT: it is unknown, 0 or more than MAX_BYTES. */
struct hv_err *hv_struct_size_find(const struct hv_kernel_core *core, const char *type,
				   uint32_t max_bytes, uint32_t *ret) hv_must_use;
/* Fails with ENOENT. */
struct hv_err *hv_enumerator_find(const struct hv_kernel_core *core, const char *name,
				  int64_t *ret) hv_must_use;

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
