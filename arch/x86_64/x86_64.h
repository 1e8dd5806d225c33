/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of the x86-64 table, by source file. */
#pragma once

#include "arch/arch.h"

/* registers.c */
bool x86_64_parse_registers(const char *text, struct hv_vcpu_regs *ret);
bool x86_64_decode_gdb_registers(struct hv_span g, struct hv_vcpu_regs *ret);
bool x86_64_decode_kvm_registers(struct hv_span regs, struct hv_span sregs,
				 struct hv_vcpu_regs *ret);
#define X86_64_GDB_CR3 29
bool x86_64_find_register(const char *name, struct hv_arch_register *ret);
bool x86_64_find_return_register(const char *name, struct hv_arch_register *ret);
bool x86_64_find_any_register(const char *name, struct hv_arch_register *ret);
bool x86_64_has_register(const char *name);
#define X86_64_USER_REGS_LEN 168 /* struct pt_regs */
bool x86_64_are_user_regs(struct hv_span regs);

/* page_table.c */
struct hv_gva x86_64_kernel_start(unsigned levels);
unsigned x86_64_roots(const struct hv_vcpu_regs *regs, struct hv_gpa ret[2]);
struct hv_gpa x86_64_entry_at(struct hv_gpa table, unsigned level, struct hv_gva gva);
struct hv_pt_entry x86_64_decode_entry(unsigned level, uint64_t entry);
uint64_t x86_64_entry_span(unsigned level);
uint64_t x86_64_make_leaf(unsigned level, uint64_t neighbour, struct hv_gpa to,
			  enum hv_access access);
bool x86_64_trap_target(struct hv_span table, struct hv_gva *ret);

/* site.c */
#define X86_64_SITE_LEN 5
enum hv_site_kind x86_64_classify_site(const uint8_t *site, struct hv_gva at,
				       struct hv_gva *ret_target);
bool x86_64_encode_call(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
bool x86_64_encode_chain(struct hv_gva at, const struct hv_chain *chain, uint8_t *ret);
bool x86_64_encode_jump(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
size_t x86_64_classify_jump_site(const uint8_t *code, struct hv_gva at, struct hv_gva target,
				 bool *ret_jumps);
bool x86_64_encode_jump_site(struct hv_gva at, struct hv_gva target, size_t len_bytes,
			     uint8_t *ret);
bool x86_64_classify_return(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk);
bool x86_64_is_bare_jump(struct hv_span code);
bool x86_64_is_empty_function(struct hv_span code);
/* Fills a return site of a trampoline. THUNK 0: bare return. Returns false if THUNK is out of
 * reach. */
bool x86_64_fill_return_site(uint8_t *site, struct hv_gva at, struct hv_gva thunk);
/* Returns the length of CODE's first instruction if it is a nop or endbr64, else 0. */
size_t x86_64_idle_length(struct hv_span code);
size_t x86_64_nop_length(struct hv_span code);

/* insn.c */
size_t x86_64_walk_code(struct hv_span code, struct hv_gva at, hv_insn_fn fn, void *ctx);
/* Returns the length of CODE's first instruction, or 0 if it is unknown. *RET_OPCODE is its first
 * byte after the prefixes. */
size_t x86_64_insn_length(struct hv_span code, uint8_t *ret_opcode);
struct hv_function_scan x86_64_scan_function(struct hv_span code, struct hv_gva at, hv_target_fn fn,
					     void *ctx);

void x86_64_mark_jumps(struct hv_span text, size_t piece_start, size_t piece_end,
		       enum hv_jump_length length, uint8_t *bits);

/* detour.c */
#define X86_64_COUNT_BEGINS 0x65 /* the prefix of %gs */
bool x86_64_classify_count(struct hv_span code, struct hv_gva at, uint64_t percpu,
			   struct hv_count_insn *ret);
bool x86_64_may_switch_irqs(struct hv_span code);
size_t x86_64_classify_irqs(struct hv_span code, enum hv_irq_effect *ret);
struct hv_way_back x86_64_classify_way_back(struct hv_span code, struct hv_gva at);
size_t x86_64_encode_detour_jump(size_t len_bytes, struct hv_gva at, struct hv_gva target,
				 uint8_t ret[HV_DETOUR_PATCH_MAX]);
size_t x86_64_make_detour(const struct hv_detour *d, uint8_t *ret);
bool x86_64_is_probe_detour(const struct hv_detour *d, const uint8_t *code);

/* probe_site.c */
const char *x86_64_find_movable(struct hv_span code, struct hv_gva at, size_t *ret_len,
				unsigned *ret_nr);
const char *x86_64_find_entry(struct hv_span code, struct hv_gva at, enum hv_entry_nop nop,
			      struct hv_entry_insns *ret);
bool x86_64_raises_exception(struct hv_span code);
bool x86_64_leads_into(struct hv_span text, struct hv_gva start, struct hv_gva_range range);
unsigned x86_64_references_at(struct hv_span code, struct hv_gva at,
			      struct hv_gva ret[HV_REFERENCES_MAX]);
/* Returns the length of the instruction at the start of CODE, or 0 if it cannot be executed
 * elsewhere. */
size_t x86_64_movable_length(struct hv_span code, struct hv_gva at);
/* Writes the INSNS, which are at FROM, to RET so that they can be executed at AT. Returns the
 * number of bytes written, at most MAX, or 0 if it is impossible. */
size_t x86_64_move(struct hv_span insns, struct hv_gva from, struct hv_gva at, uint8_t *ret,
		   size_t max);

/* members.c */
void x86_64_follow_members(struct hv_span code, struct hv_gva at, hv_member_use_fn fn, void *ctx);
void x86_64_list_uses(struct hv_span code, struct hv_gva at, hv_member_use_fn fn, void *ctx);

/* link.c */
const char *x86_64_link(const struct hv_trampoline_image *image,
			const struct hv_trampoline_values *values, struct hv_gva at, uint8_t *code);

/* context.c */
struct hv_call_addresses x86_64_decode_call(uint64_t word);
struct hv_context x86_64_decode_context(uint32_t preempt_count, uint16_t cpu_flags,
					uint16_t thread_flags, struct hv_context_bits bits);
uint16_t x86_64_find_need_resched(struct hv_span code);
uint32_t x86_64_find_lazy_resched(struct hv_span code, uint32_t flags_off);

/* Registers in unwind rules (struct hv_unwind_rule). A rule's sp_reg is never PREV_SP. */
enum {
	X86_64_UNWIND_PREV_SP = 1, /* the caller's sp, which the rule computes */
	X86_64_UNWIND_SP,
	X86_64_UNWIND_BP,
	X86_64_UNWIND_R10,
	X86_64_UNWIND_R13,
	X86_64_UNWIND_SP_INDIRECT, /* the word that sp points to */
	X86_64_UNWIND_BP_INDIRECT, /* the word at bp plus the rule's offset */
};
_Static_assert(X86_64_UNWIND_BP_INDIRECT < HV_UNWIND_NR_REGS, "registers of unwind rules");

/* unwind.c */
size_t x86_64_follow_code(struct hv_span code, const struct hv_unwind_rule *start,
			  struct hv_unwind_step *ret, size_t max);
#define X86_64_SWITCH_LEN 6 /* of the two instructions that switch to another stack */
enum hv_unwound x86_64_unwind(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
			      struct hv_unwind_frame *frame);
