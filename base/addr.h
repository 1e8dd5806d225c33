/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Distinct types for guest virtual and guest physical addresses, so that the compiler detects
 * mix-ups. Host addresses are pointers; plain integers are never addresses. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hv_gva { /* guest virtual address in the guest kernel's address space */
	uint64_t v;
};

struct hv_gpa { /* guest physical address */
	uint64_t v;
};

static inline struct hv_gva hv_gva(uint64_t v)
{
	return (struct hv_gva){v};
}

static inline struct hv_gpa hv_gpa(uint64_t v)
{
	return (struct hv_gpa){v};
}

static inline struct hv_gva hv_gva_add(struct hv_gva a, uint64_t len_bytes)
{
	return (struct hv_gva){a.v + len_bytes};
}

static inline struct hv_gpa hv_gpa_add(struct hv_gpa a, uint64_t len_bytes)
{
	return (struct hv_gpa){a.v + len_bytes};
}

/* [start, end) */
struct hv_gva_range {
	struct hv_gva start;
	struct hv_gva end;
};

static inline bool hv_gva_in(struct hv_gva a, struct hv_gva_range r)
{
	return a.v >= r.start.v && a.v < r.end.v;
}
