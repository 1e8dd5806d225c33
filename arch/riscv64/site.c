/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function-entry sites, static keys and returns.
 *
 * With -fpatchable-function-entry a function has 8 bytes of nops for a pair of instructions, `auipc
 * t0, HIGH; jalr t0, LOW(t0)`, which calls the tracer (arch/riscv/kernel/ftrace.c). Kernels before
 * 6.16 write two 4-byte nops at boot. Later ones (b2137c3b6d7a) write the auipc at boot and keep
 * it, and switch only the second instruction; their records contain its address. An auipc alone has
 * no effect, because callers do not expect t0 to be preserved.
 *
 * Source of encodings: The RISC-V Instruction Set Manual, Volume I, chapters 2 and 26. */
#include "arch/riscv64/riscv64.h"

#include <string.h>

#define NOP	   0x00000013u
#define C_NOP_TWO  0x00010001u /* two compressed nops */
#define RET	   0x00008067u
#define C_RET	   0x8082u
#define EBREAK	   0x00100073u
#define C_EBREAK   0x9002u
#define LPAD	   0x00000017u /* lpad 0 (Zicfilp) */
#define T0	   5u
#define AUIPC_T0   (0x17u | T0 << 7)
#define JALR_T0	   (0x67u | T0 << 7 | T0 << 15) /* jalr t0, LOW(t0) */
#define JR_T0	   (0x67u | T0 << 15)		/* jr LOW(t0) */
#define JAL_ZERO   0x6fu
#define RD_OPCODE  0x00000fffu
#define I_MASK	   0x000fffffu /* all but the immediate of jalr */
#define LOW_SHIFT  20
#define LOW_HALF   0x800
#define HIGH_MASK  0xfffff000u
#define INSN_LEN   4
#define C_INSN_LEN 2

static uint32_t insn_at(const uint8_t *code)
{
	uint32_t insn;

	memcpy(&insn, code, sizeof(insn));
	return insn;
}

static void put_insn(uint8_t *code, uint32_t insn)
{
	memcpy(code, &insn, sizeof(insn));
}

static bool is_nop(uint32_t insn)
{
	return insn == NOP || insn == C_NOP_TWO;
}

static bool is_breakpoint(const uint8_t *code)
{
	uint16_t half;

	memcpy(&half, code, sizeof(half));
	return half == C_EBREAK || insn_at(code) == EBREAK;
}

static struct hv_gva pair_target(uint32_t auipc, uint32_t jalr, struct hv_gva at)
{
	int64_t high = (int32_t)(auipc & HIGH_MASK), low = (int32_t)jalr >> LOW_SHIFT;

	return hv_gva_add(at, (uint64_t)(high + low));
}

enum hv_site_kind riscv64_classify_site(const uint8_t *site, struct hv_gva at,
					struct hv_gva *ret_target)
{
	uint32_t first = insn_at(site), second = insn_at(site + INSN_LEN);
	bool has_high = (first & RD_OPCODE) == AUIPC_T0;

	if (is_breakpoint(site) || is_breakpoint(site + INSN_LEN))
		return HV_SITE_BREAKPOINT;
	if ((is_nop(first) || has_high) && is_nop(second)) {
		*ret_target = has_high ? pair_target(first, 0, at) : hv_gva(0);
		return HV_SITE_NOP;
	}
	if (!has_high)
		return HV_SITE_OTHER;
	*ret_target = pair_target(first, second, at);
	if ((second & I_MASK) == JALR_T0)
		return HV_SITE_CALL;
	return (second & I_MASK) == JR_T0 ? HV_SITE_JUMP : HV_SITE_OTHER;
}

unsigned riscv64_record_off(const uint8_t before[RISCV64_SITE_LEN / 2])
{
	return (insn_at(before) & RD_OPCODE) == AUIPC_T0 ? INSN_LEN : 0;
}

/* jalr sign-extends LOW, so HIGH is rounded. */
static bool encode_pair(uint32_t jalr, struct hv_gva at, struct hv_gva target, uint8_t *ret)
{
	int64_t distance = (int64_t)(target.v - at.v);
	int64_t rounded = distance + LOW_HALF;

	if (distance % C_INSN_LEN || rounded < INT32_MIN || rounded > INT32_MAX)
		return false;
	put_insn(ret, ((uint32_t)rounded & HIGH_MASK) | AUIPC_T0);
	put_insn(ret + INSN_LEN, (uint32_t)distance << LOW_SHIFT | jalr);
	return true;
}

bool riscv64_encode_call(struct hv_gva at, struct hv_gva target, uint8_t *ret_site)
{
	return encode_pair(JALR_T0, at, target, ret_site);
}

bool riscv64_encode_jump(struct hv_gva at, struct hv_gva target, uint8_t *ret_site)
{
	return encode_pair(JR_T0, at, target, ret_site);
}

/* Static keys have a nop or a jal (arch/riscv/kernel/jump_label.c). The bits of jal's immediate are
 * in this order: 20, 10 to 1, 11, 19 to 12. */
static bool encode_jal(struct hv_gva at, struct hv_gva target, uint8_t *ret)
{
	int64_t distance = (int64_t)(target.v - at.v), reach = INT64_C(1) << 20;
	uint32_t d = (uint32_t)distance;

	if (distance % C_INSN_LEN || distance < -reach || distance >= reach)
		return false;
	put_insn(ret, (d >> 20 & 1) << 31 | (d >> 1 & 0x3ff) << 21 | (d >> 11 & 1) << 20 |
			      (d >> 12 & 0xff) << 12 | JAL_ZERO);
	return true;
}

size_t riscv64_classify_jump_site(const uint8_t *code, struct hv_gva at, struct hv_gva target,
				  bool *ret_jumps)
{
	uint8_t jump[INSN_LEN];
	bool jumps = encode_jal(at, target, jump) && !memcmp(code, jump, INSN_LEN);

	if (!jumps && insn_at(code) != NOP)
		return 0;
	*ret_jumps = jumps;
	return INSN_LEN;
}

bool riscv64_encode_jump_site(struct hv_gva at, struct hv_gva target, size_t len_bytes,
			      uint8_t *ret)
{
	return len_bytes == INSN_LEN && encode_jal(at, target, ret);
}

bool riscv64_classify_return(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk)
{
	size_t off = 0;
	uint32_t insn;
	uint16_t half;

	(void)at;
	if (hv_span_u32(code, 0, &insn) && insn == LPAD)
		off = INSN_LEN;
	if (!hv_span_u16(code, off, &half))
		return false;
	if (half != C_RET && (!hv_span_u32(code, off, &insn) || insn != RET))
		return false;
	*ret_thunk = hv_gva(0);
	return true;
}
