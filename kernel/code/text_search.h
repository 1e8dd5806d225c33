/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches the running text of the core kernel and its modules, piece by piece and function by
 * function. The bytes are the guest's current ones. preempt_sites.h and irq_sites.h recognise
 * instructions. */
#pragma once

#include "arch/arch.h"
#include "base/err.h"

struct hv_kernel;
struct hv_orc;

/* TEXT begins at START. */
typedef struct hv_err *(*hv_text_fn)(void *ctx, struct hv_span text, struct hv_gva start);

/* Calls FN for the core kernel's text, then for each module's. Skips modules whose text cannot be
 * read because they are being loaded or removed. */
struct hv_err *hv_text_search(const struct hv_kernel *k, hv_text_fn fn, void *ctx) hv_must_use;

/* Returns the code of the function that contains AT, limited to TEXT, and its start. Returns false
 * if AT is in no function that begins in TEXT. */
bool hv_text_function(const struct hv_kernel *k, struct hv_span text, struct hv_gva start,
		      struct hv_gva at, struct hv_span *ret, struct hv_gva *ret_start);

/* Finds the offset above the stack pointer of the function's return address when AT is executed.
 * Returns false if unknown. ORC may be NULL. */
bool hv_text_caller(const struct hv_arch *arch, struct hv_orc *orc, struct hv_gva at,
		    uint32_t *ret_off);
