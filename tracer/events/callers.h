/* Who called a function: the callers that the recorded words of a stack tell, found by the tables
 * of the guest's kernel. Leaves to others: which words belong to an event (parts.h), what a record
 * of them says (decode.h), walking them (kernel/unwind.h). One thread. */
#pragma once

#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;
struct hv_stack_words;
struct hv_callers;

/* Borrows K and STUBS, where the guest sees the stubs and what belongs to them, which may be set
 * later. */
struct hv_callers *hv_callers_new(const struct hv_kernel *k, const struct hv_gva_range *stubs);
void hv_callers_free(struct hv_callers *c);

/* Finds the kernel's tables; does nothing when they are found. EOPNOTSUPP with the reason: this
 * kernel's stacks cannot be read. */
struct hv_err *hv_callers_prepare(struct hv_callers *c) hv_must_use;
/* The kernel's modules were read anew. */
void hv_callers_forget_modules(struct hv_callers *c);

/* From WORDS, the recorded words of a stack: who called, the function's caller first. Returns how
 * many they are, at most MAX; 0 before hv_callers_prepare. */
size_t hv_callers_find(struct hv_callers *c, const struct hv_stack_words *words, struct hv_gva *ret,
		       size_t max);
