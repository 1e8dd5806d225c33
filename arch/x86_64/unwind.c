/* One step up a stack by an ORC rule (unwind_next_frame in arch/x86/kernel/unwind_orc.c). */
#include "arch/x86_64/x86_64.h"

/* The registers of a rule; those not here are never at a call. */
enum {
	REG_UNDEFINED = 0,
	REG_PREV_SP = X86_64_ORC_PREV_SP,
	REG_DX = 2,
	REG_DI = 3,
	REG_BP = X86_64_ORC_BP,
	REG_SP = X86_64_ORC_SP,
	REG_R10 = 6,
	REG_R13 = 7,
	REG_BP_INDIRECT = 8,
	REG_SP_INDIRECT = 9,
};

/* struct pt_regs (arch/x86/include/asm/ptrace.h) */
#define REGS_R13 16
#define REGS_BP	 32
#define REGS_R10 56
#define REGS_DX	 96
#define REGS_DI	 112
#define REGS_IP	 128
#define REGS_SP	 152

static bool pointer_at(hv_stack_word word, void *ctx, uint32_t at, uint32_t *ret)
{
	uint64_t value;

	if (!word(ctx, at & HV_STACK_ADDRESS_MASK, &value))
		return false;
	*ret = (uint32_t)value & HV_STACK_ADDRESS_MASK;
	return true;
}

/* The caller's sp, or where its registers are. */
static bool find_sp(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
		    const struct hv_unwind_frame *f, uint32_t *ret)
{
	uint32_t off = (uint32_t)(int32_t)rule->sp_off;
	uint32_t reg;

	switch (rule->sp_reg) {
	case REG_SP:
		*ret = f->sp + off;
		return true;
	case REG_BP:
		*ret = f->bp + off;
		return true;
	case REG_SP_INDIRECT:
		if (!pointer_at(word, ctx, f->sp, &reg))
			return false;
		*ret = reg + off;
		return true;
	case REG_BP_INDIRECT:
		return pointer_at(word, ctx, f->bp + off, ret);
	case REG_R10:
		reg = REGS_R10;
		break;
	case REG_R13:
		reg = REGS_R13;
		break;
	case REG_DI:
		reg = REGS_DI;
		break;
	case REG_DX:
		reg = REGS_DX;
		break;
	default:
		return false;
	}
	return f->has_regs && pointer_at(word, ctx, f->regs + reg, ret);
}

/* A frame pointer that is not known is nobody's: what needs it ends there. */
static uint32_t find_bp(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
			const struct hv_unwind_frame *f, uint32_t sp)
{
	uint32_t off = (uint32_t)(int32_t)rule->bp_off, bp = 0;

	switch (rule->bp_reg) {
	case REG_PREV_SP:
		pointer_at(word, ctx, sp + off, &bp);
		return bp;
	case REG_BP:
		pointer_at(word, ctx, f->bp + off, &bp);
		return bp;
	default:
		if (rule->kind == HV_UNWIND_REGS)
			pointer_at(word, ctx, sp + REGS_BP, &bp);
		return rule->kind == HV_UNWIND_REGS ? bp : f->bp;
	}
}

bool x86_64_unwind(const struct hv_unwind_rule *rule, hv_stack_word word, void *ctx,
		   struct hv_unwind_frame *frame)
{
	struct hv_unwind_frame next = {.exact = rule->exact};
	uint32_t found;

	if (rule->kind == HV_UNWIND_NONE || rule->kind == HV_UNWIND_END ||
	    !find_sp(rule, word, ctx, frame, &found))
		return false;
	next.sp = found;
	if (rule->kind == HV_UNWIND_CALL) {
		if (!word(ctx, (found - 8) & HV_STACK_ADDRESS_MASK, &next.ip.v))
			return false;
	} else {
		/* Of the hardware's part the rest is below. */
		uint32_t regs = rule->kind == HV_UNWIND_REGS ? found : found - REGS_IP;

		if (!word(ctx, (regs + REGS_IP) & HV_STACK_ADDRESS_MASK, &next.ip.v) ||
		    !pointer_at(word, ctx, regs + REGS_SP, &next.sp))
			return false;
		next.has_regs = rule->kind == HV_UNWIND_REGS;
		next.regs = regs;
	}
	next.sp &= HV_STACK_ADDRESS_MASK;
	next.bp = find_bp(rule, word, ctx, frame, found) & HV_STACK_ADDRESS_MASK;
	*frame = next;
	return true;
}
