/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the callers of a function on a kernel stack, like the kernel's own unwinder
 * (arch_stack_walk): reads the kernel's ORC tables, and walks the words of a stack that a
 * trampoline recorded. Tables and words are untrusted; every walk ends. arch/ applies rules to a
 * stack; tracer/ supplies the words. */
#pragma once

#include "arch/arch.h"
#include "base/addr.h"
#include "base/err.h"

struct hv_kernel;
struct hv_orc;

/* -- ORC tables -------------------------------------------------------------------------------- */

/* ORC tables, which x86 kernels without frame pointers use to find the caller of a function
 * (arch/x86/include/asm/orc_types.h). Reads the tables of the image and of modules. BTF describes
 * the layout of an entry. An entry yields an unwind rule or nothing. */

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

/* -- recorded stacks --------------------------------------------------------------------------- */

#define HV_STACK_WORDS_MAX 381
#define HV_CALLERS_MAX	   128

/* Words of a stack that are text addresses or point into the stack, and their positions. Both keep
 * only the low 31 bits; a text address is an offset from text_base. */
struct hv_stack_words {
	struct hv_gva text_base;
	uint32_t sp; /* at a function's first instruction: its return address is there */
	uint32_t bp;
	struct hv_gva ip; /* if not 0, the words are of the state before this instruction, not at a
			     function's first one */
	size_t nr;
	struct {
		uint32_t at;
		uint32_t value;
		bool is_text;
	} list[HV_STACK_WORDS_MAX];
};

/* Non-kernel code that calls kernel functions, always with the same frame. */
struct hv_unwind_trampolines {
	struct hv_gva_range code; /* return addresses in it */
	struct hv_unwind_rule rule;
};

/* Returns the number of callers, and in RET the callers, starting with the function's own caller
 * (or words->ip). Each is a return address or an interrupted address. Skips trampolines;
 * TRAMPOLINES may be NULL. *RET_EARLY is true if the walk ended too early to find all callers;
 * otherwise the last caller is at the kernel entry or the start of a thread or CPU. */
size_t hv_unwind(struct hv_orc *orc, const struct hv_arch *arch, const struct hv_stack_words *words,
		 const struct hv_unwind_trampolines *trampolines, struct hv_gva *ret, size_t max,
		 bool *ret_early);

/* Like hv_unwind(), for kernels whose functions keep frame records. A trampoline has already
 * followed them: a text word is the next caller, and any other word means that the last caller has
 * no caller. */
size_t hv_unwind_records(const struct hv_stack_words *words, struct hv_gva *ret, size_t max,
			 bool *ret_early);
