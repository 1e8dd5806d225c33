/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Direct calls in the kernel's code: the places where a function calls, or jumps to, one of a few
 * others. The code is read as the guest has it now. Any byte of it may be the first of a call:
 * among 4 GiB of addresses, only a call or jump leads to so few of them. The code is hostile:
 * whoever changes a place checks what is there. Leaves to others: which functions (tracer/yield.h,
 * tracer/hibernation.h), making a call lead elsewhere (tracer/redirect.h). */
#pragma once

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;

struct hv_call {
	struct hv_gva at;
	struct hv_gva target;
	enum hv_site_kind kind; /* HV_SITE_CALL or HV_SITE_JUMP */
};

struct hv_calls {
	struct hv_call *list; /* owned */
	size_t nr;
	size_t cap;
};

/* Only so many bytes of a function are looked at. */
#define HV_CALLS_FUNCTION_BYTES 8192u

/* Adds to RET the calls and jumps that lead into TARGETS from the function, of the core kernel or
 * of a module, that begins at FUNCTION. It ends where the next symbol begins. */
struct hv_err *hv_calls_find(const struct hv_kernel *k, struct hv_gva function,
			     struct hv_gva_range targets, struct hv_calls *ret) hv_must_use;
/* Likewise from all functions of the core kernel whose names begin with PREFIX. */
struct hv_err *hv_calls_find_in(const struct hv_kernel *k, const char *prefix,
				struct hv_gva_range targets, struct hv_calls *ret) hv_must_use;
void hv_calls_deinit(struct hv_calls *c);

/* The range that has only AT. */
static inline struct hv_gva_range hv_gva_alone(struct hv_gva at)
{
	return (struct hv_gva_range){at, hv_gva_add(at, 1)};
}
