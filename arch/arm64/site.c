/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function-entry sites, static keys and returns.
 *
 * With -fpatchable-function-entry=2 a function begins with two nops, after its `bti c` if it has
 * one. At boot the kernel changes the first nop to `mov x9, x30`. The second nop is the site, and
 * becomes a `bl` when the function is traced (arch/arm64/kernel/ftrace.c). Source of encodings: Arm
 * Architecture Reference Manual (DDI 0487), C6.2. */
#include "arch/arm64/arm64.h"

#include <string.h>

#define NOP	   0xd503201fu
#define RET	   0xd65f03c0u
#define B	   0x14000000u
#define BL	   0x94000000u
#define BRANCH	   0xfc000000u /* of B and BL */
#define BRK	   0xd4200000u
#define BRK_MASK   0xffe0001fu
#define BTI	   0xd503241fu /* bti; bits 7:6 select c, j and jc */
#define BTI_MASK   0xffffff3fu
#define REACH	   (INT64_C(128) << 20)
#define IMM26_MASK 0x3ffffffu
#define ADRP_X16   0x90000010u
#define ADD_X16	   0x91000210u /* add x16, x16, #0 */
#define BR_X16	   0xd61f0200u
#define ADRP_PAGE  4096u /* independent of the kernel's page size */
#define ADRP_PAGES (INT64_C(1) << 20)

static uint32_t insn_at(const uint8_t *code)
{
	uint32_t insn;

	memcpy(&insn, code, sizeof(insn));
	return insn;
}

static struct hv_gva branch_target(uint32_t insn, struct hv_gva at)
{
	int64_t words = (int32_t)(insn << 6) >> 6;

	return hv_gva_add(at, (uint64_t)(words * ARM64_INSN_LEN));
}

static bool encode_branch(uint32_t opcode, struct hv_gva at, struct hv_gva target, uint8_t *ret)
{
	int64_t distance = (int64_t)(target.v - at.v);
	uint32_t insn = opcode | ((uint32_t)((uint64_t)distance / ARM64_INSN_LEN) & IMM26_MASK);

	if (distance % ARM64_INSN_LEN || distance < -REACH || distance >= REACH)
		return false;
	memcpy(ret, &insn, sizeof(insn));
	return true;
}

enum hv_site_kind arm64_classify_site(const uint8_t *site, struct hv_gva at,
				      struct hv_gva *ret_target)
{
	uint32_t insn = insn_at(site);

	if (insn == NOP)
		return HV_SITE_NOP;
	if ((insn & BRK_MASK) == BRK)
		return HV_SITE_BREAKPOINT;
	if ((insn & BRANCH) != B && (insn & BRANCH) != BL)
		return HV_SITE_OTHER;
	*ret_target = branch_target(insn, at);
	return (insn & BRANCH) == BL ? HV_SITE_CALL : HV_SITE_JUMP;
}

bool arm64_encode_call(struct hv_gva at, struct hv_gva target, uint8_t *ret_site)
{
	return encode_branch(BL, at, target, ret_site);
}

bool arm64_encode_jump(struct hv_gva at, struct hv_gva target, uint8_t *ret_site)
{
	return encode_branch(B, at, target, ret_site);
}

size_t arm64_classify_jump_site(const uint8_t *code, struct hv_gva at, struct hv_gva target,
				bool *ret_jumps)
{
	struct hv_gva to = {0};
	enum hv_site_kind kind = arm64_classify_site(code, at, &to);

	if (kind != HV_SITE_NOP && (kind != HV_SITE_JUMP || to.v != target.v))
		return 0;
	*ret_jumps = kind == HV_SITE_JUMP;
	return ARM64_INSN_LEN;
}

bool arm64_encode_jump_site(struct hv_gva at, struct hv_gva target, size_t len_bytes, uint8_t *ret)
{
	return len_bytes == ARM64_INSN_LEN && encode_branch(B, at, target, ret);
}

/* adrp x16, TARGET; add x16, x16, TARGET's low bits; br x16.
 *
 * The kernel uses the same code for targets that a module's `bl` does not reach. AAPCS64 reserves
 * x16 for such veneers, and a trampoline that begins with `bti c` allows a jump through x16. */
bool arm64_encode_veneer(struct hv_gva at, struct hv_gva target, uint8_t ret[HV_VENEER_LEN])
{
	int64_t pages = (int64_t)(target.v / ADRP_PAGE) - (int64_t)(at.v / ADRP_PAGE);
	uint32_t low = (uint32_t)(target.v % ADRP_PAGE), imm = (uint32_t)(uint64_t)pages;
	const uint32_t insns[] = {ADRP_X16 | (imm & 3) << 29 | (imm >> 2 & 0x7ffff) << 5,
				  ADD_X16 | low << 10, BR_X16, BRK};

	_Static_assert(sizeof(insns) == HV_VENEER_LEN, "a veneer");
	if (pages < -ADRP_PAGES || pages >= ADRP_PAGES)
		return false;
	memcpy(ret, insns, sizeof(insns));
	return true;
}

bool arm64_classify_return(struct hv_span code, struct hv_gva at, struct hv_gva *ret_thunk)
{
	uint32_t insn;

	(void)at;
	if (!hv_span_u32(code, 0, &insn))
		return false;
	if ((insn & BTI_MASK) == BTI && !hv_span_u32(code, ARM64_INSN_LEN, &insn))
		return false;
	if (insn != RET)
		return false;
	*ret_thunk = hv_gva(0);
	return true;
}
