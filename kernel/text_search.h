/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The running text of the core kernel and of its modules, piece by piece and function by function,
 * for whoever looks for instructions in it. Bytes are the guest's, as it has them now.
 * Leaves to others: which instructions (preempt_sites.h, irq_sites.h). */
#pragma once

#include "arch/arch.h"
#include "base/err.h"

struct hv_kernel;
struct hv_orc;

/* TEXT begins at START. */
typedef struct hv_err *(*hv_text_fn)(void *ctx, struct hv_span text, struct hv_gva start);

/* Calls FN for the core kernel's text, then for that of each module. A module that is being loaded
 * or removed has text that cannot be read, and is left out. */
struct hv_err *hv_text_search(const struct hv_kernel *k, hv_text_fn fn, void *ctx) hv_must_use;

/* *RET: the code of the function that AT belongs to, as far as it is in TEXT, and where it begins.
 * False: AT is in no function that begins in TEXT. */
bool hv_text_function(const struct hv_kernel *k, struct hv_span text, struct hv_gva start,
		      struct hv_gva at, struct hv_span *ret, struct hv_gva *ret_start);

/* Whether the address that the function of AT returns to is so many bytes above the stack pointer
 * when AT is executed. ORC may be NULL. */
bool hv_text_caller(const struct hv_arch *arch, struct hv_orc *orc, struct hv_gva at,
		    uint32_t *ret_off);
