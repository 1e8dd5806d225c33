/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ORC tables: how x86 kernels without frame pointers find the caller of a function
 * (arch/x86/include/asm/orc_types.h). Reads the tables of the image and of modules; BTF tells the
 * layout of an entry. All of it is hostile: an entry gives a rule or none, and nothing more is
 * believed.
 * Leaves to others: what a rule does with a stack (arch/), walking a stack (unwind.h). */
#pragma once

#include "arch/arch.h"
#include "base/err.h"

struct hv_kernel;
struct hv_orc;

/* Finds out how K's tables are to be read, which takes tens of ms. hv_orc_new() does that the first
 * time, so it comes before a hold in which stacks may have to be read. */
void hv_orc_prepare(const struct hv_kernel *k);
/* Fails as hv_orc_new() where it can be told quickly that this will fail. */
struct hv_err *hv_orc_check(const struct hv_kernel *k) hv_must_use;
/* Fails with EOPNOTSUPP and the reason: this kernel has no such tables, or their form is not known.
 * K is borrowed and outlives the result. */
struct hv_err *hv_orc_new(const struct hv_kernel *k, struct hv_orc **ret) hv_must_use;
void hv_orc_free(struct hv_orc *orc);

/* Finds the rule at IP. False: there is none. A module's tables are read when one of its addresses
 * is first asked for, and kept until hv_orc_forget_modules(). */
bool hv_orc_find(struct hv_orc *orc, struct hv_gva ip, struct hv_unwind_rule *ret);
/* Whether IP can be a return address of code that is there. It cannot be one in the image's data.
 */
bool hv_orc_is_text(const struct hv_orc *orc, struct hv_gva ip);
/* Whether IP is in code that ran while the kernel started, and may be freed by now. The kernel's
 * own stacks have it nevertheless (__kernel_text_address). */
bool hv_orc_is_init_text(const struct hv_orc *orc, struct hv_gva ip);
/* Forgets the tables of modules. To be called when modules were read again. */
void hv_orc_forget_modules(struct hv_orc *orc);
