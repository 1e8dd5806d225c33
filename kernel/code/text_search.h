/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches the running text of the core kernel and its modules: piece by piece, function by
 * function, or for direct calls. The bytes are the guest's current ones. section_sites.h and
 * probe_site.h recognise instructions. */
#pragma once

#include "base/addr.h"
#include "base/err.h"
#include "arch/arch.h"

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

/* Direct calls in the kernel's code: the addresses where a function calls, or jumps to, given
 * targets.
 *
 * The current code is searched at every byte offset. Few of the 4 GiB of addresses that a call can
 * reach are targets, so other bytes hardly ever look like a call of one. The code is untrusted:
 * code that changes a call checks the bytes first. tracer/hooks/ chooses the functions and
 * redirects calls. */
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

/* Functions are searched up to this size. */
#define HV_CALLS_FUNCTION_BYTES 8192u

/* Adds to RET the calls and jumps into TARGETS from the function at FUNCTION, in the core kernel or
 * a module. The function ends at the next symbol. */
struct hv_err *hv_calls_find(const struct hv_kernel *k, struct hv_gva function,
			     struct hv_gva_range targets, struct hv_calls *ret) hv_must_use;
/* Like hv_calls_find(), for all functions of the core kernel with the prefix PREFIX. */
struct hv_err *hv_calls_find_in(const struct hv_kernel *k, const char *prefix,
				struct hv_gva_range targets, struct hv_calls *ret) hv_must_use;
void hv_calls_deinit(struct hv_calls *c);

/* Returns the range that contains only AT. */
static inline struct hv_gva_range hv_gva_alone(struct hv_gva at)
{
	return (struct hv_gva_range){at, hv_gva_add(at, 1)};
}
