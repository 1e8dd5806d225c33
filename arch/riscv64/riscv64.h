/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of the riscv64 table, by source file. */
#pragma once

#include "arch/arch.h"

/* A site is a pair of instructions. */
#define RISCV64_SITE_LEN 8

/* registers.c */
bool riscv64_parse_registers(const char *text, struct hv_vcpu_regs *ret);
bool riscv64_decode_gdb_registers(struct hv_span g, struct hv_vcpu_regs *ret);
void riscv64_take_gdb_named(const uint64_t values[HV_GDB_NAMED_MAX], struct hv_vcpu_regs *regs);
unsigned riscv64_roots(const struct hv_vcpu_regs *regs, struct hv_gpa ret[2]);
bool riscv64_trap_target(struct hv_span table, struct hv_gva *ret);

/* page_table.c */
struct hv_gva riscv64_kernel_start(unsigned levels);
uint64_t riscv64_entry_span(unsigned level);
struct hv_gpa riscv64_entry_at(struct hv_gpa table, unsigned level, struct hv_gva gva);
struct hv_pt_entry riscv64_decode_entry(unsigned level, uint64_t entry);
uint64_t riscv64_make_leaf(unsigned level, uint64_t neighbour, struct hv_gpa to,
			   enum hv_access access);

/* site.c */
enum hv_site_kind riscv64_classify_site(const uint8_t *site, struct hv_gva at,
					struct hv_gva *ret_target);
bool riscv64_encode_call(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
bool riscv64_encode_jump(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
size_t riscv64_classify_jump_site(const uint8_t *code, struct hv_gva at, struct hv_gva target,
				  bool *ret_jumps);
bool riscv64_encode_jump_site(struct hv_gva at, struct hv_gva target, size_t len_bytes,
			      uint8_t *ret);
unsigned riscv64_record_off(const uint8_t before[RISCV64_SITE_LEN / 2]);
bool riscv64_classify_return(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk);

/* link.c */
const char *riscv64_link(const struct hv_trampoline_image *image,
			 const struct hv_trampoline_values *values, struct hv_gva at,
			 uint8_t *code);

/* context.c */
struct hv_call_addresses riscv64_decode_call(uint64_t word);
struct hv_context riscv64_decode_context(uint32_t preempt_count, uint16_t cpu_flags,
					 uint16_t thread_flags, struct hv_context_bits bits);
