/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the callers of a function in the recorded words of a stack, by the unwind tables of the
 * guest's kernel. Leaves to others: which words belong to an event (parts.h), decoding them
 * (decode.h), walking the stack (kernel/unwind.h). One thread. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;
struct hv_stack_words;
struct hv_callers;

/* Borrows K; and STUBS, the addresses where the guest sees the stubs, which may be set later. */
struct hv_callers *hv_callers_new(const struct hv_kernel *k, const struct hv_gva_range *stubs);
void hv_callers_free(struct hv_callers *c);

/* Fails as hv_callers_prepare() where it can be told quickly that this will fail. */
struct hv_err *hv_callers_check(const struct hv_callers *c) hv_must_use;
/* Finds the kernel's tables, unless they are found, which takes tens of ms. EOPNOTSUPP with the
 * reason: this kernel's stacks cannot be unwound. */
struct hv_err *hv_callers_prepare(struct hv_callers *c) hv_must_use;
/* Called after the kernel's modules were read again. */
void hv_callers_forget_modules(struct hv_callers *c);

/* Removes the probe of an event, and what calls it for a tracepoint, from the begin of the NR
 * callers in LIST, as the kernel does. Returns how many are left. */
size_t hv_callers_leave_probe(const struct hv_callers *c, struct hv_gva *list, size_t nr);

/* Finds the callers in WORDS, the caller of the function first. Returns their number, at most MAX;
 * 0 before hv_callers_prepare. *RET_EARLY: there may be more, which could not be found. */
size_t hv_callers_find(struct hv_callers *c, const struct hv_stack_words *words, struct hv_gva *ret,
		       size_t max, bool *ret_early);
