/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Members of the arm64 tables, by source file. */
#pragma once

#include "arch/arch.h"

#define ARM64_INSN_LEN 4

/* registers.c */
bool arm64_parse_registers(const char *text, struct hv_vcpu_regs *ret);
bool arm64_decode_gdb_registers(struct hv_span g, struct hv_vcpu_regs *ret);
extern const uint64_t arm64_kvm_ids[];
bool arm64_decode_kvm_registers(struct hv_span regs, struct hv_span sregs,
				struct hv_vcpu_regs *ret);
void arm64_take_gdb_named(const uint64_t values[HV_GDB_NAMED_MAX], struct hv_vcpu_regs *regs);
bool arm64_trap_target(struct hv_span table, struct hv_gva *ret);

/* page_table.c. A format is a page size (granule), a number of translated address bits, and the
 * position of the upper physical address bits in an entry. */
struct arm64_format {
	unsigned page_shift;
	unsigned va_bits;
	bool wide; /* 52-bit physical addresses: FEAT_LPA with 64 KiB pages, else FEAT_LPA2 */
};
unsigned arm64_roots(const struct arm64_format *f, const struct hv_vcpu_regs *regs,
		     struct hv_gpa ret[2]);
uint64_t arm64_entry_span(const struct arm64_format *f, unsigned level);
struct hv_gpa arm64_entry_at(const struct arm64_format *f, struct hv_gpa table, unsigned level,
			     struct hv_gva gva);
struct hv_pt_entry arm64_decode_entry(const struct arm64_format *f, unsigned level, uint64_t entry);
uint64_t arm64_make_leaf(const struct arm64_format *f, unsigned level, uint64_t neighbour,
			 struct hv_gpa to, enum hv_access access);
uint64_t arm64_make_table(const struct arm64_format *f, uint64_t neighbour, struct hv_gpa table);
uint64_t arm64_strip_signature(const struct arm64_format *f, uint64_t word);

/* pauth.c. KEY is in the order of struct ptrauth_key, the low half first. */
struct arm64_qarma {
	unsigned rounds; /* before the reflection: at most 7 */
	uint8_t box[16]; /* substitution of a cell */
};
uint64_t arm64_qarma(const struct arm64_qarma *q, uint64_t text, uint64_t tweak, uint64_t w0,
		     uint64_t k0);
#define ARM64_NR_SIGNINGS 12
extern const struct arm64_qarma arm64_qarma5, arm64_qarma3;
uint64_t arm64_sign(const struct arm64_format *f, unsigned way, uint64_t address, uint64_t modifier,
		    const uint64_t key[2]);
unsigned arm64_signature_bits(const struct arm64_format *f, unsigned way);

/* site.c */
enum hv_site_kind arm64_classify_site(const uint8_t *site, struct hv_gva at,
				      struct hv_gva *ret_target);
bool arm64_encode_call(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
bool arm64_encode_jump(struct hv_gva at, struct hv_gva target, uint8_t *ret_site);
size_t arm64_classify_jump_site(const uint8_t *code, struct hv_gva at, struct hv_gva target,
				bool *ret_jumps);
bool arm64_encode_jump_site(struct hv_gva at, struct hv_gva target, size_t len_bytes, uint8_t *ret);
bool arm64_encode_veneer(struct hv_gva at, struct hv_gva target, uint8_t ret[HV_VENEER_LEN]);
bool arm64_classify_return(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk);

/* data.c */
void arm64_follow_data(struct hv_span code, struct hv_gva at, hv_data_use_fn fn, void *ctx);
bool arm64_classify_percpu(struct hv_span code, bool *ret_is_hypervisor);

/* link.c */
const char *arm64_link(const struct hv_trampoline_image *image,
		       const struct hv_trampoline_values *values, struct hv_gva at, uint8_t *code);

/* context.c */
struct hv_call_addresses arm64_decode_call(uint64_t word);
struct hv_context arm64_decode_context(uint32_t preempt_count, uint16_t cpu_flags,
				       uint16_t thread_flags, struct hv_context_bits bits);
