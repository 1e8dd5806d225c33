/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the callers of a function in the stack words of a record, with the unwind tables of the
 * guest's kernel.
 *
 * decode.h finds and decodes the words of an event, kernel/tasks/unwind.h walks the stack. One
 * thread. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;
struct hv_stack_words;
struct hv_callers;

/* Borrows K and TRAMPOLINES, the guest addresses of the trampolines, which may be set later. */
struct hv_callers *hv_callers_new(const struct hv_kernel *k,
				  const struct hv_gva_range *trampolines);
void hv_callers_free(struct hv_callers *c);

/* Fails like hv_callers_prepare() if that can be determined quickly. */
struct hv_err *hv_callers_check(const struct hv_callers *c) hv_must_use;
/* Finds the kernel's tables unless they are known, which takes tens of ms. EOPNOTSUPP: this
 * kernel's stacks cannot be unwound; the message gives the reason. */
struct hv_err *hv_callers_prepare(struct hv_callers *c) hv_must_use;
/* Call this after the kernel's modules were reread. */
void hv_callers_forget_modules(struct hv_callers *c);

/* Removes the event's callback, and the function that calls it for a tracepoint, from the start of
 * LIST, as the kernel does. Returns how many callers remain. */
size_t hv_callers_leave_callback(const struct hv_callers *c, struct hv_gva *list, size_t nr);

/* Finds the callers in WORDS, starting with the caller of the function. Returns their number, at
 * most MAX; 0 before hv_callers_prepare. Sets *RET_EARLY to whether further callers may exist that
 * could not be found. */
size_t hv_callers_find(struct hv_callers *c, const struct hv_stack_words *words, struct hv_gva *ret,
		       size_t max, bool *ret_early);
