/* The parts of the x86-64 table, each in the file of its name. */
#pragma once

#include "arch/arch.h"

/* registers.c */
bool x86_64_parse_registers(const char *text, struct hv_vcpu_regs *ret);
bool x86_64_decode_gdb_registers(struct hv_span g, struct hv_vcpu_regs *ret);
bool x86_64_decode_kvm_registers(struct hv_span regs, struct hv_span sregs,
				 struct hv_vcpu_regs *ret);
#define X86_64_GDB_CR3 29

/* page_table.c */
struct hv_gva x86_64_kernel_start(unsigned levels);
unsigned x86_64_roots(const struct hv_vcpu_regs *regs, struct hv_gpa ret[2]);
struct hv_gpa x86_64_entry_at(struct hv_gpa table, unsigned level, struct hv_gva gva);
struct hv_pt_entry x86_64_decode_entry(unsigned level, uint64_t entry);
uint64_t x86_64_entry_span(unsigned level);
uint64_t x86_64_make_leaf(unsigned level, uint64_t neighbour, struct hv_gpa to,
			  enum hv_access access);
bool x86_64_trap_target(struct hv_span table, struct hv_gva *ret);

/* need_resched.c */
uint16_t x86_64_find_need_resched(struct hv_span code);
uint32_t x86_64_find_lazy_resched(struct hv_span code, uint32_t flags_off);

/* site.c */
#define X86_64_SITE_LEN 5
enum hv_site_kind x86_64_classify_site(const uint8_t *site, struct hv_gva at,
				       struct hv_gva *ret_target);
bool x86_64_encode_call(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
bool x86_64_classify_return(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk);
bool x86_64_place_return(uint8_t *slot, struct hv_gva at, struct hv_gva thunk);

/* context.c */
struct hv_context x86_64_decode_context(uint32_t preempt_count, uint16_t cpu_flags,
					uint16_t thread_flags, struct hv_resched_masks masks);

/* unwind.c */
bool x86_64_unwind(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
		   struct hv_unwind_frame *frame);
#define X86_64_ORC_PREV_SP 1 /* ORC_REG_*, the same since 4.14 (39358a033b2e) */
#define X86_64_ORC_BP	   4
#define X86_64_ORC_SP	   5
