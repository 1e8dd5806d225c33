/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinds one frame with an ORC rule (unwind_next_frame in arch/x86/kernel/unwind_orc.c). */
#include "arch/x86_64/x86_64.h"

/* struct pt_regs (arch/x86/include/asm/ptrace.h) */
#define REGS_R13 16
#define REGS_BP	 32
#define REGS_R10 56
#define REGS_IP	 128
#define REGS_SP	 152
#define REGS_LEN 168

/* At an entry from user mode, its registers are at the end of a stack. FRED leaves some words free
 * after them. */
#define STACK_UNIT 4096
#define TOP_LEN	   64

static bool pointer_at(hv_stack_word word, void *ctx, uint32_t at, uint32_t *ret)
{
	uint64_t value;

	if (!word(ctx, at & HV_STACK_ADDRESS_MASK, &value))
		return false;
	*ret = (uint32_t)value & HV_STACK_ADDRESS_MASK;
	return true;
}

/* Finds the caller's sp, or the address of its registers. */
static bool find_sp(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
		    const struct hv_unwind_frame *f, uint32_t *ret)
{
	uint32_t off = (uint32_t)(int32_t)rule->sp_off;
	uint32_t reg;

	switch (rule->sp_reg) {
	case X86_64_UNWIND_SP:
		*ret = f->sp + off;
		return true;
	case X86_64_UNWIND_BP:
		*ret = f->bp + off;
		return true;
	case X86_64_UNWIND_SP_INDIRECT:
		if (!pointer_at(word, ctx, f->sp, &reg))
			return false;
		*ret = reg + off;
		return true;
	case X86_64_UNWIND_BP_INDIRECT:
		return pointer_at(word, ctx, f->bp + off, ret);
	case X86_64_UNWIND_R10:
		reg = REGS_R10;
		break;
	case X86_64_UNWIND_R13:
		reg = REGS_R13;
		break;
	default:
		return false;
	}
	return f->has_regs && pointer_at(word, ctx, f->regs + reg, ret);
}

/* If the frame pointer cannot be found, returns 0: a rule that needs it then finds no word. */
static uint32_t find_bp(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
			const struct hv_unwind_frame *f, uint32_t sp)
{
	uint32_t off = (uint32_t)(int32_t)rule->bp_off, bp = 0;

	switch (rule->bp_reg) {
	case X86_64_UNWIND_PREV_SP:
		pointer_at(word, ctx, sp + off, &bp);
		return bp;
	case X86_64_UNWIND_BP:
		pointer_at(word, ctx, f->bp + off, &bp);
		return bp;
	default:
		if (rule->kind == HV_UNWIND_REGS)
			pointer_at(word, ctx, sp + REGS_BP, &bp);
		return rule->kind == HV_UNWIND_REGS ? bp : f->bp;
	}
}

/* Returns whether the registers that end at END are those of user code. */
static bool is_entry(uint32_t end)
{
	return -end % STACK_UNIT <= TOP_LEN;
}

static bool is_text(uint64_t ip)
{
	return ip >= HV_TEXT_BIT;
}

/* Continues with the context of the registers at FOUND. */
static enum hv_unwound unwind_regs(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
				   uint32_t found, struct hv_unwind_frame *next)
{
	/* REGS_PARTIAL: FOUND is the part that the CPU saves, at the end of struct pt_regs. */
	uint32_t regs = rule->kind == HV_UNWIND_REGS ? found : found - REGS_IP;

	if (!word(ctx, (regs + REGS_IP) & HV_STACK_ADDRESS_MASK, &next->ip.v) ||
	    !is_text(next->ip.v))
		return is_entry(regs + REGS_LEN) ? HV_UNWOUND_END : HV_UNWOUND_EARLY;
	if (!pointer_at(word, ctx, regs + REGS_SP, &next->sp))
		return HV_UNWOUND_EARLY;
	next->has_regs = rule->kind == HV_UNWIND_REGS;
	next->regs = regs;
	return HV_UNWOUND_CALLER;
}

enum hv_unwound x86_64_unwind(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
			      struct hv_unwind_frame *frame)
{
	struct hv_unwind_frame next = {.exact = rule->exact};
	enum hv_unwound unwound = HV_UNWOUND_CALLER;
	uint32_t found;

	if (rule->kind == HV_UNWIND_END)
		return HV_UNWOUND_END;
	if (rule->kind == HV_UNWIND_NONE || !find_sp(rule, word, ctx, frame, &found))
		return HV_UNWOUND_EARLY;
	next.sp = found;
	if (rule->kind != HV_UNWIND_CALL)
		unwound = unwind_regs(rule, word, ctx, found, &next);
	else if (!word(ctx, (found - 8) & HV_STACK_ADDRESS_MASK, &next.ip.v) || !is_text(next.ip.v))
		unwound = HV_UNWOUND_EARLY;
	if (unwound != HV_UNWOUND_CALLER)
		return unwound;
	next.sp &= HV_STACK_ADDRESS_MASK;
	next.bp = find_bp(rule, word, ctx, frame, found) & HV_STACK_ADDRESS_MASK;
	*frame = next;
	return HV_UNWOUND_CALLER;
}
