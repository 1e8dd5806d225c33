/* ORC: the tables by which x86 kernels without frame pointers find who called whom, from the image
 * and from modules (arch/x86/include/asm/orc_types.h). What an entry's bits are is BTF's to say.
 * Everything in them is hostile: an entry is a rule or none, nothing more is believed.
 * Leaves to others: what a rule does with a stack (arch/), walking it (unwind.h). */
#pragma once

#include "arch/arch.h"
#include "base/err.h"

struct hv_kernel;
struct hv_orc;

/* EOPNOTSUPP with the reason: this kernel has no such tables, or of a form that is not known. K is
 * borrowed and outlives it. */
struct hv_err *hv_orc_new(const struct hv_kernel *k, struct hv_orc **ret) hv_must_use;
void hv_orc_free(struct hv_orc *orc);

/* The rule at IP. False: there is none for it. Tables of modules are read when they are first
 * asked for, and kept until hv_orc_forget_modules. */
bool hv_orc_find(struct hv_orc *orc, struct hv_gva ip, struct hv_unwind_rule *ret);
/* Whether something can have been called from IP: not from the image's data, nor from what was
 * freed after boot (__kernel_text_address). */
bool hv_orc_is_text(const struct hv_orc *orc, struct hv_gva ip);
/* The kernel's modules were read anew. */
void hv_orc_forget_modules(struct hv_orc *orc);
