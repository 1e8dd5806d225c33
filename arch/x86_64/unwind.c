/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwinding: makes unwind rules from the instructions of a function, and applies a rule to a
 * stack. */
#include "arch/x86_64/x86_64.h"

#include <string.h>

/* -- rules from code --------------------------------------------------------------------------- */

/* Follows how instructions change the unwind rule of a function.
 *
 * Supports the instructions that the compiler uses in function prologues, and those that switch to
 * the kernel's interrupt stack. Their effect is the same as in objtool, which creates the kernel's
 * ORC tables (tools/objtool/check.c, update_cfi_state()). Any other instruction ends the walk. */

#define REX_W	 0x48
#define REX_WB	 0x49 /* r/m is one of r8..r15 */
#define REX_WR	 0x4c /* reg is one of r8..r15 */
#define REX_WRB	 0x4d
#define REX_B	 0x41
#define PUSH	 0x50 /* plus the register's number */
#define PUSH_RBP 0x55
#define POP_RSP	 0x5c
#define CALL	 0xe8
#define XOR	 0x31
#define MOV	 0x89
#define MOV_LOAD 0x8b
#define LEA	 0x8d
#define GROUP_1	 0x81 /* add, and, sub, ... with a four-byte immediate, or one byte: */
#define GROUP_1B 0x83
#define GROUP_5	 0xff

/* ModRM bytes */
#define RSP_TO_RBP 0xe5
#define SUB_RSP	   0xec
#define AND_RSP	   0xe4

/* State of the frame at the current instruction. */
struct frame {
	struct hv_unwind_rule rule;
	uint8_t drap;	  /* register with the CFA while rsp is aligned: R10, R13; 0: none */
	int32_t drap_off; /* offset of the CFA from that register */
	bool has_bp;	  /* the frame pointer was pushed after rsp was aligned */
	int32_t depth;	  /* bytes pushed after the frame pointer */
};

static bool is_drap(const struct frame *f)
{
	return f->drap && f->rule.sp_reg == f->drap;
}

static bool saves_bp_here(const struct frame *f)
{
	return f->rule.bp_reg == X86_64_UNWIND_PREV_SP && f->rule.bp_off == -f->rule.sp_off;
}

static void push(struct frame *f, uint8_t reg)
{
	bool is_bp = reg == 5;

	if (f->rule.sp_reg == X86_64_UNWIND_SP) {
		f->rule.sp_off += 8;
		if (is_bp && !f->rule.bp_reg) {
			f->rule.bp_reg = X86_64_UNWIND_PREV_SP;
			f->rule.bp_off = -f->rule.sp_off;
		}
	}
	if (!is_drap(f))
		return;
	f->depth += 8;
	if (is_bp && !f->has_bp) {
		f->has_bp = true;
		f->depth = 0;
	} else if (f->rule.bp_reg == X86_64_UNWIND_BP &&
		   reg == (f->drap == X86_64_UNWIND_R10 ? 10 : 13)) {
		f->rule.sp_reg = X86_64_UNWIND_BP_INDIRECT;
		f->rule.sp_off = (int16_t)-f->depth;
	}
}

/* `mov %rsp, %rbp`. Returns false if rbp does not become a frame pointer. */
static bool rsp_to_rbp(struct frame *f)
{
	if (f->rule.sp_reg == X86_64_UNWIND_SP && saves_bp_here(f)) {
		f->rule.sp_reg = X86_64_UNWIND_BP;
		return true;
	}
	if (!is_drap(f) || !f->has_bp || f->depth)
		return false;
	f->rule.bp_reg = X86_64_UNWIND_BP;
	f->rule.bp_off = 0;
	return true;
}

static bool align_rsp(struct frame *f)
{
	if (f->rule.sp_reg == X86_64_UNWIND_BP)
		return true;
	if (!f->drap || f->drap_off)
		return false;
	f->rule.sp_reg = f->drap;
	f->rule.sp_off = 0;
	return true;
}

/* `sub $n, %rsp` and `and $n, %rsp`. */
static size_t change_rsp(struct frame *f, struct hv_span code)
{
	uint8_t opcode = code.data[1], modrm = code.data[2];
	size_t len = opcode == GROUP_1 ? 7 : 4;
	int32_t number;

	if (!hv_span_has(code, 0, len))
		return 0;
	number = (int8_t)code.data[3];
	if (opcode == GROUP_1)
		memcpy(&number, code.data + 3, sizeof(number));
	if (modrm == AND_RSP)
		return align_rsp(f) ? len : 0;
	if (modrm != SUB_RSP || number < 0 || number > 0x4000)
		return 0;
	if (f->rule.sp_reg == X86_64_UNWIND_SP)
		f->rule.sp_off = (int16_t)(f->rule.sp_off + number);
	return len;
}

/* `mov %rsp, (%reg)`, `mov %reg, %rsp`: saves the old stack pointer on the new stack and switches
 * to it. */
static size_t switch_stack(struct frame *f, struct hv_span code)
{
	uint8_t first = code.data[0], reg;

	if (!hv_span_has(code, 0, 6) || (code.data[2] & 0xf8) != 0x20 || code.data[1] != MOV)
		return 0;
	reg = code.data[2] & 7;
	/* 4 means a SIB byte, 5 an address relative to rip. */
	if (reg == 4 || reg == 5 || code.data[3] != (first == REX_W ? REX_W : REX_WR) ||
	    code.data[4] != MOV || code.data[5] != (0xc4 | reg << 3))
		return 0;
	if (f->rule.sp_reg == X86_64_UNWIND_SP)
		f->rule.sp_reg = X86_64_UNWIND_SP_INDIRECT;
	else if (f->rule.sp_reg != X86_64_UNWIND_BP)
		return 0;
	return 6;
}

/* `pop %rsp`: returns to the stack whose pointer is on this one. */
static size_t switch_back(struct frame *f)
{
	if (f->rule.sp_reg != X86_64_UNWIND_SP_INDIRECT)
		return 0;
	f->rule.sp_reg = X86_64_UNWIND_SP;
	return 1;
}

/* `lea n(%rsp), %r10` (or %r13). */
static size_t take_drap(struct frame *f, struct hv_span code)
{
	bool is_r10 = code.data[2] == 0x54;

	if (!hv_span_has(code, 0, 5) || (!is_r10 && code.data[2] != 0x6c) || code.data[3] != 0x24 ||
	    f->drap || f->rule.sp_reg != X86_64_UNWIND_SP)
		return 0;
	f->drap = is_r10 ? X86_64_UNWIND_R10 : X86_64_UNWIND_R13;
	f->drap_off = f->rule.sp_off - (int8_t)code.data[4];
	return 5;
}

/* `push n(%r10)` (or %r13). */
static size_t push_memory(struct frame *f, struct hv_span code)
{
	if (!hv_span_has(code, 0, 4) || (code.data[2] != 0x72 && code.data[2] != 0x75) ||
	    !is_drap(f))
		return 0;
	f->depth += 8;
	return 4;
}

/* `mov` or `xor` between registers, unless it writes rsp or rbp. */
static size_t move(const struct frame *f, struct hv_span code, size_t prefix)
{
	uint8_t opcode, modrm, to;
	bool is_load, to_high;

	if (!hv_span_has(code, prefix, 2))
		return 0;
	opcode = code.data[prefix];
	modrm = code.data[prefix + 1];
	is_load = opcode == MOV_LOAD;
	if ((opcode != MOV && opcode != XOR && !is_load) || modrm < 0xc0)
		return 0;
	to = is_load ? modrm >> 3 & 7 : modrm & 7;
	to_high = prefix && (code.data[0] & (is_load ? 4 : 1));
	if ((!to_high && (to == 4 || to == 5)) || (to_high && f->drap))
		return 0;
	return prefix + 2;
}

static size_t with_rex(struct frame *f, struct hv_span code)
{
	uint8_t first = code.data[0], second = code.data[1], third = code.data[2];
	size_t len = 0;

	if (first == REX_B && (second & 0xf8) == PUSH) {
		push(f, (uint8_t)(8 + (second & 7)));
		return 2;
	}
	if (first == REX_B && second == GROUP_5)
		return push_memory(f, code);
	if (first == REX_W && second == MOV && third == RSP_TO_RBP)
		return rsp_to_rbp(f) ? 3 : 0;
	if (first == REX_W && (second == GROUP_1 || second == GROUP_1B))
		return change_rsp(f, code);
	if (first == REX_WR && second == LEA)
		return take_drap(f, code);
	if (first == REX_W || first == REX_WB)
		len = switch_stack(f, code);
	return len ? len : move(f, code, 1);
}

/* Applies the first instruction of CODE to F. Returns its length, or 0 if it is not supported. */
static size_t follow(struct frame *f, struct hv_span code)
{
	size_t idle = x86_64_idle_length(code);
	uint8_t first;

	if (idle)
		return idle;
	if (hv_span_has(code, 0, 1) && code.data[0] == POP_RSP)
		return switch_back(f);
	if (!hv_span_has(code, 0, 3))
		return 0;
	first = code.data[0];
	if ((first & 0xf8) == PUSH) {
		push(f, first & 7);
		return 1;
	}
	/* The called function preserves the frame. */
	if (first == CALL)
		return hv_span_has(code, 0, X86_64_SITE_LEN) ? X86_64_SITE_LEN : 0;
	if ((first & 0xf0) == 0x40)
		return with_rex(f, code);
	return move(f, code, 0);
}

static bool is_same(const struct hv_unwind_rule *a, const struct hv_unwind_rule *b)
{
	return a->sp_reg == b->sp_reg && a->sp_off == b->sp_off && a->bp_reg == b->bp_reg &&
	       a->bp_off == b->bp_off;
}

size_t x86_64_follow_code(struct hv_span code, const struct hv_unwind_rule *start,
			  struct hv_unwind_step *ret, size_t max)
{
	struct frame f = {.rule = *start};
	size_t off = 0, nr = 0;

	while (nr < max) {
		struct hv_unwind_rule before = f.rule;
		size_t len = follow(&f, (struct hv_span){code.data + off, code.len_bytes - off});

		if (!len)
			break;
		off += len;
		if (!is_same(&before, &f.rule))
			ret[nr++] = (struct hv_unwind_step){(uint32_t)off, f.rule};
	}
	return nr;
}

/* -- one frame --------------------------------------------------------------------------------- */

/* Unwinds one frame with an ORC rule (unwind_next_frame in arch/x86/kernel/unwind_orc.c). */

/* struct pt_regs (arch/x86/include/asm/ptrace.h) */
#define REGS_R13 16
#define REGS_BP	 32
#define REGS_R10 56
#define REGS_IP	 128
#define REGS_SP	 152
#define REGS_LEN 168

/* At an entry from user mode, the registers of user mode are at the end of a stack. FRED leaves
 * some words free after them. */
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
