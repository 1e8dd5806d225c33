/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ORC tables, which x86 kernels without frame pointers use to find the caller of a function
 * (arch/x86/include/asm/orc_types.h). Reads the tables of the image and of modules. BTF describes
 * the layout of an entry. The tables are untrusted: an entry yields an unwind rule or nothing.
 * arch/ applies rules to a stack; unwind.h walks stacks. */
#pragma once

#include "arch/arch.h"
#include "base/err.h"

struct hv_kernel;
struct hv_orc;

/* Determines the format of K's tables, which takes tens of ms. The first hv_orc_new() does it too.
 * Call this before a hold in which stacks may be read. */
void hv_orc_prepare(const struct hv_kernel *k);
/* Reports an error of hv_orc_new() early, if it can be detected quickly. */
struct hv_err *hv_orc_check(const struct hv_kernel *k) hv_must_use;
/* Fails with EOPNOTSUPP and the reason if this kernel has no such tables or their format is
 * unknown. K must outlive the result. */
struct hv_err *hv_orc_new(const struct hv_kernel *k, struct hv_orc **ret) hv_must_use;
void hv_orc_free(struct hv_orc *orc);

/* Finds the rule at IP. Returns false if not found. Reads a module's tables at the first lookup
 * in it and keeps them until hv_orc_forget_modules(). */
bool hv_orc_find(struct hv_orc *orc, struct hv_gva ip, struct hv_unwind_rule *ret);
/* Returns whether IP can be a return address in existing code, as opposed to data of the image. */
bool hv_orc_is_text(const struct hv_orc *orc, struct hv_gva ip);
/* Returns whether IP is in init code, which may have been freed. The kernel's own stack traces
 * include such addresses (__kernel_text_address). */
bool hv_orc_is_init_text(const struct hv_orc *orc, struct hv_gva ip);
/* Discards the tables of modules. Call this after modules were read again. */
void hv_orc_forget_modules(struct hv_orc *orc);
