/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes instructions that count preemption or change the interrupt flag, and those on the way out
 * of the kernel.
 *
 * The kernel counts with assembly (arch/x86/include/asm/preempt.h, percpu.h): `incl`, `decl`,
 * `addl`, `subl` of %gs:__preempt_count, with an address relative to %rip, or absolute in older
 * kernels. Since 7.3 the count can have 64 bits (`incq`). Its lower half is the count, and tests
 * use only that.
 *
 * detour.c replaces the instructions. */
#include "arch/x86_64/detour_insn.h"

#define TEST_LEN   2
#define BRANCH_LEN 6 /* a conditional jump with a 32-bit distance */

/* Returns the length of the instruction without its immediate, or 0 if it does not address PERCPU.
 * OFF is the offset after its opcode. */
static size_t addresses(struct hv_span code, size_t off, struct hv_gva at, uint64_t percpu,
			size_t imm_len)
{
	uint8_t modrm = code.data[off] & (uint8_t)~MODRM_REG;
	size_t len = off + 5;

	if (modrm == MODRM_RIP && hv_span_has(code, 0, len + imm_len))
		return at.v + len + imm_len + (uint64_t)(int64_t)s32_at(code.data + off + 1) ==
				       percpu
			       ? len
			       : 0;
	len++;
	if (modrm == MODRM_SIB && hv_span_has(code, 0, len + imm_len) &&
	    code.data[off + 1] == SIB_ABS)
		return (uint64_t)(int64_t)s32_at(code.data + off + 2) == percpu ? len : 0;
	return 0;
}

bool x86_64_classify_count(struct hv_span code, struct hv_gva at, uint64_t percpu,
			   struct hv_count_insn *ret)
{
	size_t off, len, imm_len;
	unsigned operation;
	uint8_t opcode;
	int32_t added;

	if (!hv_span_has(code, 0, 7) || code.data[0] != X86_64_COUNT_BEGINS)
		return false;
	off = opcode_off(code.data);
	opcode = code.data[off++];
	if (is_of_register(opcode)) {
		*ret = (struct hv_count_insn){
			.len_bytes = addresses(code, off, at, percpu, 0),
			.is_wide = code.data[1] == REX_W,
			.subtracts = opcode == OP_SUB_REG,
		};
		return ret->len_bytes != 0;
	}
	if (!has_immediate(opcode, &imm_len) && opcode != OP_INC_DEC)
		return false;
	operation = (code.data[off] & MODRM_REG) >> 3;
	if (operation != 0 && operation != (imm_len ? 5 : 1))
		return false;
	len = addresses(code, off, at, percpu, imm_len);
	if (!len || len + imm_len > HV_DETOUR_INSN_MAX)
		return false;
	added = imm_len == 4 ? s32_at(code.data + len) : imm_len ? (int8_t)code.data[len] : 1;
	if (operation != 0)
		added = (int32_t) - (uint32_t)added;
	if (added == 0 || added == INT32_MIN)
		return false;
	*ret = (struct hv_count_insn){
		.len_bytes = len + imm_len,
		.is_wide = code.data[1] == REX_W,
		.amount = (uint32_t)(added < 0 ? -added : added),
		.subtracts = added < 0,
	};
	return true;
}

static bool switches(uint8_t opcode)
{
	return opcode == CLI || opcode == STI || opcode == POPF;
}

static bool has_byte(struct hv_span code)
{
	for (size_t i = 0; i < code.len_bytes; i++)
		if (switches(code.data[i]))
			return true;
	return false;
}

bool x86_64_may_switch_irqs(struct hv_span code)
{
	uint8_t opcode;

	if (!has_byte(code))
		return false;
	for (size_t at = 0, len; at < code.len_bytes; at += len) {
		struct hv_span rest = {code.data + at, code.len_bytes - at};

		len = x86_64_insn_length(rest, &opcode);
		if (!len || switches(opcode))
			return true;
	}
	return false;
}

size_t x86_64_classify_irqs(struct hv_span code, enum hv_irq_effect *ret)
{
	size_t len = 1, nop;

	if (!hv_span_has(code, 0, 1) || (code.data[0] != CLI && code.data[0] != STI))
		return 0;
	while (len < JMP_LEN) {
		nop = x86_64_nop_length((struct hv_span){code.data + len, code.len_bytes - len});
		if (!nop)
			break;
		len += nop;
	}
	*ret = code.data[0] == CLI ? HV_IRQ_OFF : HV_IRQ_ON;
	return len;
}

/* testb %al, %al; testl %eax, %eax */
static bool is_test(const uint8_t *insn)
{
	return (insn[0] & 0xfe) == 0x84 && insn[1] == 0xc0;
}

static struct hv_way_back branch_at(const uint8_t *insn, struct hv_gva at, size_t off)
{
	struct hv_way_back way = {.kind = HV_WAY_BACK_BRANCH, .off = off, .len_bytes = BRANCH_LEN};
	int32_t distance = s32_at(insn + off + 2);

	way.target = hv_gva(at.v + off + BRANCH_LEN + (uint64_t)(int64_t)distance);
	return way;
}

struct hv_way_back x86_64_classify_way_back(struct hv_span code, struct hv_gva at)
{
	struct hv_way_back way = {.kind = HV_WAY_BACK_NONE, .len_bytes = JMP_LEN};
	size_t nop;

	if (!hv_span_has(code, 0, TEST_LEN + BRANCH_LEN))
		return way;
	nop = x86_64_nop_length(code);
	if (nop >= JMP_LEN)
		return (struct hv_way_back){.kind = HV_WAY_BACK_NOP, .len_bytes = nop};
	if (is_branch(code.data))
		return branch_at(code.data, at, 0);
	if (is_test(code.data) && is_branch(code.data + TEST_LEN))
		return branch_at(code.data, at, TEST_LEN);
	if (x86_64_classify_site(code.data, at, &way.target) == HV_SITE_JUMP)
		way.kind = HV_WAY_BACK_JUMP;
	return way;
}
