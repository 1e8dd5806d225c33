/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Detours: decodes the instructions that a detour replaces, encodes the jump to it, and writes its
 * code. */
#include "arch/x86_64/x86_64.h"

#include <string.h>

/* -- encodings --------------------------------------------------------------------------------- */

#define REX_W	   0x48 /* 64 bits */
#define OP_IMM32   0x81 /* /0 add, /5 sub */
#define OP_IMM8	   0x83 /* the same, with a sign-extended byte as immediate */
#define OP_INC_DEC 0xff /* /0 inc, /1 dec */
#define OP_ADD_REG 0x01 /* ModRM's operation field is the register */
#define OP_SUB_REG 0x29

#define MODRM_RIP 0x05 /* without the operation field: disp32(%rip) */
#define MODRM_SIB 0x04
#define MODRM_REG 0x38
#define SIB_ABS	  0x25 /* disp32, sign-extended */

#define PUSHF 0x9c
#define POPF  0x9d
#define CLI   0xfa
#define STI   0xfb

#define JMP_LEN 5

static inline int32_t s32_at(const uint8_t *at)
{
	int32_t value;

	memcpy(&value, at, sizeof(value));
	return value;
}

static inline bool has_immediate(uint8_t opcode, size_t *ret_len)
{
	*ret_len = opcode == OP_IMM32 ? 4 : opcode == OP_IMM8 ? 1 : 0;
	return *ret_len != 0;
}

/* Returns the offset of the opcode, after the prefixes. */
static inline size_t opcode_off(const uint8_t *insn)
{
	return insn[1] == REX_W ? 2 : 1;
}

static inline bool is_of_register(uint8_t opcode)
{
	return opcode == OP_ADD_REG || opcode == OP_SUB_REG;
}

static inline bool is_branch(const uint8_t *insn)
{
	return insn[0] == 0x0f && (insn[1] & 0xf0) == 0x80;
}

/* -- instructions that are replaced ------------------------------------------------------------ */

/* Decodes instructions that count preemption or change the interrupt flag, and those on the way out
 * of the kernel.
 *
 * The kernel counts with assembly (arch/x86/include/asm/preempt.h, percpu.h): `incl`, `decl`,
 * `addl`, `subl` of %gs:__preempt_count, with an address relative to %rip, or absolute in older
 * kernels. Since 7.3 the count can have 64 bits (`incq`). Its lower half is the count, and tests
 * use only that. */

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

/* -- detours ----------------------------------------------------------------------------------- */

/* The jump that replaces an instruction, and the code at its target. */

#define GS		X86_64_COUNT_BEGINS
#define OP_PUSH		0x68
#define BRANCH_TO_SHORT 0x10 /* second byte of a long branch minus a short one's opcode */

#define IF_BYTE	   1 /* byte and bit of IF in the flags */
#define IF_MASK	   0x02
#define REGS_FLAGS 0x90 /* offset of the flags in struct pt_regs */

/* The bytes after the jump, for each remaining length of the replaced instruction: complete
 * instructions. The last one can include original bytes.
 *
 * They are never executed. But a kprobe of the guest decodes a function from its start, and can be
 * set on one of them. The kernel must not turn it into a five-byte jump, which would overwrite the
 * next instruction, to which the detour jumps. It never does so for hlt, a jump to the next
 * instruction, and prefetch (can_boost); `test $imm32, %eax` is long enough by itself. */
#define HLT	 0xf4
#define SKIP	 0xeb, 0x00
#define TEST	 0xa9
#define PREFETCH 0x0f, 0x18, 0x40
static const struct {
	bool is_known;
	uint8_t len;
	uint8_t bytes[3];
} behind[] = {
	[0] = {true, 0, {0}},
	[1] = {true, 1, {HLT}},
	[2] = {true, 2, {SKIP}},
	[3] = {true, 3, {HLT, SKIP}},
	[4] = {true, 3, {PREFETCH}},
	[5] = {true, 1, {TEST}},
	[6] = {true, 3, {HLT, TEST, 0x00}},
	[7] = {true, 3, {SKIP, TEST}},
};

size_t x86_64_encode_detour_jump(size_t len_bytes, struct hv_gva at, struct hv_gva target,
				 uint8_t ret[HV_DETOUR_PATCH_MAX])
{
	size_t rest = len_bytes - JMP_LEN;

	if (len_bytes < JMP_LEN || rest >= HV_ARRAY_LEN(behind) || !behind[rest].is_known)
		return 0;
	if (!x86_64_encode_jump(at, target, ret))
		return 0;
	memcpy(ret + JMP_LEN, behind[rest].bytes, behind[rest].len);
	return JMP_LEN + behind[rest].len;
}

/* -- the code of a detour ---------------------------------------------------------------------- */

/* Code under construction. */
struct writer {
	struct hv_gva at; /* address where it will run */
	uint8_t *code;
	size_t len, max;
	bool misfits; /* a value or target is out of reach, or there is no room */
};

static void put(struct writer *w, const void *bytes, size_t len)
{
	if (w->len + len > w->max) {
		w->misfits = true;
		return;
	}
	memcpy(w->code + w->len, bytes, len);
	w->len += len;
}

static void put_u8(struct writer *w, uint8_t byte)
{
	put(w, &byte, 1);
}

static void put_s32(struct writer *w, uint64_t value)
{
	int32_t low = (int32_t)value;

	w->misfits |= (uint64_t)(int64_t)low != value;
	put(w, &low, sizeof(low));
}

static void put_u32(struct writer *w, uint32_t value)
{
	put(w, &value, sizeof(value));
}

/* Adds the guest's instruction, with the counter's address as an absolute displacement. */
static void put_insn(struct writer *w, const struct hv_detour *d)
{
	size_t off = opcode_off(d->insn), imm_len;

	put(w, d->insn, off + 1);
	put_u8(w, (d->insn[off + 1] & MODRM_REG) | MODRM_SIB);
	put_u8(w, SIB_ABS);
	put_s32(w, d->percpu);
	if (has_immediate(d->insn[off], &imm_len))
		put(w, d->insn + d->count.len_bytes - imm_len, imm_len);
}

#define EAX 0
#define ECX 1

/* Compares the count with the amount in a register, or with its negative if the section's end adds
 * the amount. Saves and uses a second register. */
static void put_register_test(struct writer *w, const struct hv_detour *d)
{
	size_t off = opcode_off(d->insn);
	uint8_t amount = (d->insn[off + 1] & MODRM_REG) >> 3;
	uint8_t count = amount == EAX ? ECX : EAX;
	bool is_negative = d->kind == HV_DETOUR_ENDS && d->insn[off] == OP_ADD_REG;

	put_u8(w, 0x50 | count); /* pushq %count */
	put(w, (const uint8_t[]){GS, 0x8b, (uint8_t)(count << 3 | MODRM_SIB), SIB_ABS}, 4);
	put_s32(w, d->percpu);				      /* movl %gs:counter, %count */
	put(w, (const uint8_t[]){OP_IMM32, 0xe0 | count}, 2); /* andl $mask, %count */
	put_u32(w, ~d->flag);
	put_u8(w, is_negative ? OP_ADD_REG : 0x39 /* cmpl */);
	put_u8(w, (uint8_t)(0xc0 | amount << 3 | count));
	put_u8(w, 0x58 | count); /* popq */
}

/* Sets ZF if the count is only the amount of this instruction: testl $mask, %gs:counter */
static void put_test(struct writer *w, const struct hv_detour *d)
{
	static const uint8_t test[] = {GS, 0xf7, 0x04, SIB_ABS};

	if (is_of_register(d->insn[opcode_off(d->insn)])) {
		put_register_test(w, d);
		return;
	}
	put(w, test, sizeof(test));
	put_s32(w, d->percpu);
	put_u32(w, ~(d->flag | d->count.amount));
}

static void put_jump(struct writer *w, struct hv_gva target)
{
	uint8_t code[JMP_LEN];

	w->misfits |= !x86_64_encode_jump(hv_gva_add(w->at, w->len), target, code);
	put(w, code, sizeof(code));
}

static void put_call(struct writer *w, struct hv_gva target)
{
	uint8_t code[JMP_LEN];

	w->misfits |= !x86_64_encode_call(hv_gva_add(w->at, w->len), target, code);
	put(w, code, sizeof(code));
}

/* leaq 8(%rsp), %rsp: pops a word and preserves the flags */
static const uint8_t drop[] = {0x48, 0x8d, 0x64, 0x24, 0x08};

/* Calls the trampoline with the caller's address on the stack, or 0 if it is unknown. */
static void put_trampoline(struct writer *w, const struct hv_detour *d)
{
	static const uint8_t push_zero[] = {0x6a, 0x00};       /* pushq $0 */
	static const uint8_t push_word[] = {0xff, 0xb4, 0x24}; /* pushq disp32(%rsp) */

	if (d->has_caller) {
		put(w, push_word, sizeof(push_word));
		put_s32(w, d->caller_off);
	} else {
		put(w, push_zero, sizeof(push_zero));
	}
	put_call(w, d->trampoline);
	put(w, drop, sizeof(drop));
}

/* Adds a two-byte jump with a distance to be set later. */
static size_t put_short_jump(struct writer *w, uint8_t opcode)
{
	put_u8(w, opcode);
	put_u8(w, 0);
	return w->len;
}

static void short_jump_leads_here(struct writer *w, size_t from)
{
	w->code[from - 1] = (uint8_t)(w->len - from);
}

#define JZ	  0x74
#define JMP_SHORT 0xeb

static void write_begins(struct writer *w, const struct hv_detour *d)
{
	size_t is_first;

	put_insn(w, d);
	put_test(w, d);
	is_first = put_short_jump(w, JZ);
	put_jump(w, d->next);
	short_jump_leads_here(w, is_first);
	put_trampoline(w, d);
	put_jump(w, d->next);
}

static void write_ends(struct writer *w, const struct hv_detour *d)
{
	size_t is_last, insn, back;

	put_test(w, d);
	is_last = put_short_jump(w, JZ);
	insn = w->len;
	put_insn(w, d);
	put_jump(w, d->next);
	short_jump_leads_here(w, is_last);
	put_trampoline(w, d);
	back = put_short_jump(w, JMP_SHORT);
	w->code[back - 1] = (uint8_t)(insn - back);
}

/* Tests whether interrupts were on in the pushed flags, and pops them. */
static void put_irqs_test(struct writer *w)
{
	static const uint8_t test[] = {0xf6, 0x44, 0x24, IF_BYTE, IF_MASK}; /* testb IF, (%rsp) */

	put(w, test, sizeof(test));
	put(w, drop, sizeof(drop));
}

#define JNZ 0x75

static void write_irqs_off(struct writer *w, const struct hv_detour *d)
{
	size_t were_on;

	put_u8(w, PUSHF);
	put_u8(w, CLI);
	put_irqs_test(w);
	were_on = put_short_jump(w, JNZ);
	put_jump(w, d->next);
	short_jump_leads_here(w, were_on);
	put_trampoline(w, d);
	put_jump(w, d->next);
}

static void write_irqs_on(struct writer *w, const struct hv_detour *d)
{
	size_t are_off, insn, back;

	put_u8(w, PUSHF);
	put_irqs_test(w);
	are_off = put_short_jump(w, JZ);
	insn = w->len;
	put_u8(w, STI);
	put_jump(w, d->next);
	short_jump_leads_here(w, are_off);
	put_trampoline(w, d);
	back = put_short_jump(w, JMP_SHORT);
	w->code[back - 1] = (uint8_t)(insn - back);
}

/* Adds testb IF on the saved flags of the registers that start OFF bytes above the stack
 * pointer. */
static void put_saved_test(struct writer *w, uint32_t off)
{
	static const uint8_t test[] = {0xf6, 0x84, 0x24}; /* testb $imm8, disp32(%rsp) */

	put(w, test, sizeof(test));
	put_u32(w, off + REGS_FLAGS + IF_BYTE);
	put_u8(w, IF_MASK);
}

static void write_arrives(struct writer *w, const struct hv_detour *d)
{
	size_t were_on;

	put_saved_test(w, sizeof(uint64_t)); /* the return address is below them */
	were_on = put_short_jump(w, JNZ);
	put_jump(w, d->next);
	short_jump_leads_here(w, were_on);
	put_trampoline(w, d);
	put_jump(w, d->next);
}

static void put_return(struct writer *w, const struct hv_detour *d, struct hv_gva to)
{
	size_t are_off;

	put_saved_test(w, 0);
	are_off = put_short_jump(w, JZ);
	put_trampoline(w, d);
	short_jump_leads_here(w, are_off);
	put_jump(w, to);
}

/* A branch comes first: it depends on the flags, and the code after it does not. */
static void write_returns(struct writer *w, const struct hv_detour *d)
{
	size_t branch;

	if (!is_branch(d->insn)) {
		put_return(w, d, d->next);
		return;
	}
	branch = put_short_jump(w, d->insn[1] - BRANCH_TO_SHORT);
	put_return(w, d, d->next);
	short_jump_leads_here(w, branch);
	put_return(w, d, d->target);
}

/* Offsets in the code of put_probe(). */
#define PROBE_SITE_OFF	     1
#define PROBE_GROUP_OFF	     7
#define PROBE_TRAMPOLINE_OFF 12
#define PROBE_LEN	     22

/* Saves the flags first and restores them last, because returning from the trampoline can change
 * them. */
static void put_probe(struct writer *w, const struct hv_detour *d,
		      const struct hv_detour_probe *probe)
{
	static const uint8_t drop_both[] = {0x48, 0x8d, 0x64, 0x24, 0x10}; /* leaq 16(%rsp), %rsp */

	put_u8(w, PUSHF);
	put_u8(w, OP_PUSH);
	put_s32(w, d->probe_site.v + probe->off);
	put_u8(w, OP_PUSH);
	put_u32(w, probe->group);
	put_call(w, d->trampoline);
	put(w, drop_both, sizeof(drop_both));
	put_u8(w, POPF);
}

/* Adds the instruction of LEN bytes at offset OFF. */
static void put_moved(struct writer *w, const struct hv_detour *d, size_t off, size_t len)
{
	size_t moved = 0;

	if (!w->misfits)
		moved = x86_64_move((struct hv_span){d->insn + off, len},
				    hv_gva_add(d->probe_site, off), hv_gva_add(w->at, w->len),
				    w->code + w->len, w->max - w->len);
	w->misfits |= !moved;
	w->len += moved;
}

static size_t insn_length(const struct hv_detour *d, size_t off)
{
	return x86_64_movable_length((struct hv_span){d->insn + off, d->len_bytes - off},
				     hv_gva_add(d->probe_site, off));
}

static void write_probe_site(struct writer *w, const struct hv_detour *d)
{
	unsigned probe = 0;

	for (size_t off = 0, len; off < d->len_bytes && !w->misfits; off += len) {
		len = insn_length(d, off);
		if (probe < d->nr_probes && d->probes[probe].off == off)
			put_probe(w, d, &d->probes[probe++]);
		put_moved(w, d, off, len);
	}
	w->misfits |= probe < d->nr_probes;
	put_jump(w, d->next);
}

/* The stack that the chains' trampoline expects (chain.S), below the saved registers:
 *
 *      48(%rsp)  the caller of the function
 *      40(%rsp)  flags
 *      16(%rsp)  %rax, %r10, %r11
 *       8(%rsp)  the caller again
 *       0(%rsp)  the end of the site: the address of INSN plus a site's length */
#define ENTRY_TRAMPOLINE_OFF 16

static void write_entry(struct writer *w, const struct hv_detour *d)
{
	static const uint8_t save[] = {0x9c,				/* pushfq */
				       0x50,				/* pushq %rax */
				       0x41, 0x52,			/* pushq %r10 */
				       0x41, 0x53,			/* pushq %r11 */
				       0xff, 0x74, 0x24, 0x20};		/* pushq 32(%rsp) */
	static const uint8_t restore[] = {0x48, 0x8d, 0x64, 0x24, 0x10, /* leaq 16(%rsp), %rsp */
					  0x41, 0x5b, 0x41, 0x5a, 0x58, 0x9d};

	put(w, save, sizeof(save));
	put_u8(w, OP_PUSH);
	put_s32(w, d->probe_site.v + X86_64_SITE_LEN);
	put_call(w, d->trampoline);
	put(w, restore, sizeof(restore));
	for (size_t off = 0, len; off < d->len_bytes && !w->misfits; off += len) {
		len = insn_length(d, off);
		put_moved(w, d, off, len);
	}
	put_jump(w, d->next);
}

size_t x86_64_make_detour(const struct hv_detour *d, uint8_t *ret)
{
	struct writer w = {
		.at = d->at,
		.code = ret,
		.max = d->kind == HV_DETOUR_PROBE_SITE ? HV_DETOUR_LEN_MAX : HV_DETOUR_LEN,
	};
	size_t nr_blocks;

	switch (d->kind) {
	case HV_DETOUR_BEGINS:
		write_begins(&w, d);
		break;
	case HV_DETOUR_ENDS:
		write_ends(&w, d);
		break;
	case HV_DETOUR_IRQS_OFF:
		write_irqs_off(&w, d);
		break;
	case HV_DETOUR_IRQS_ON:
		write_irqs_on(&w, d);
		break;
	case HV_DETOUR_ARRIVES:
		write_arrives(&w, d);
		break;
	case HV_DETOUR_RETURNS:
		write_returns(&w, d);
		break;
	case HV_DETOUR_PROBE_SITE:
		write_probe_site(&w, d);
		break;
	case HV_DETOUR_ENTRY:
		write_entry(&w, d);
		break;
	case HV_DETOUR_CALL_BEGINS:
	case HV_DETOUR_CALL_ENDS:
		put_trampoline(&w, d);
		put_jump(&w, d->next);
		break;
	}
	if (w.misfits)
		return 0;
	nr_blocks = (w.len + HV_DETOUR_LEN - 1) / HV_DETOUR_LEN;
	memset(ret + w.len, 0xcc, nr_blocks * HV_DETOUR_LEN - w.len); /* int3 */
	return nr_blocks;
}

/* Returns whether CODE begins with the code of put_probe() for a probe at PROBE_SITE. */
static bool is_probe(const uint8_t *code, uint64_t probe_site)
{
	return code[0] == PUSHF && code[PROBE_SITE_OFF] == OP_PUSH &&
	       (uint64_t)(int64_t)s32_at(code + PROBE_SITE_OFF + 1) == probe_site;
}

/* Finds the probes of CODE, which may be the detour D. Stores the offsets of its calls of the
 * trampoline in TRAMPOLINES. */
static void find_probes(struct hv_detour *d, const uint8_t *code, size_t *trampolines)
{
	uint8_t scratch[HV_DETOUR_LEN];
	size_t at = 0, len, moved;

	d->nr_probes = 0;
	for (size_t off = 0; off < d->len_bytes && at + PROBE_LEN < HV_DETOUR_LEN_MAX; off += len) {
		if (d->nr_probes < HV_DETOUR_PROBES_MAX &&
		    is_probe(code + at, d->probe_site.v + off)) {
			struct hv_detour_probe *probe = &d->probes[d->nr_probes];

			*probe = (struct hv_detour_probe){.off = (unsigned)off};
			memcpy(&probe->group, code + at + PROBE_GROUP_OFF, sizeof(probe->group));
			trampolines[d->nr_probes++] = at + PROBE_TRAMPOLINE_OFF;
			at += PROBE_LEN;
		}
		len = insn_length(d, off);
		moved = x86_64_move((struct hv_span){d->insn + off, len},
				    hv_gva_add(d->probe_site, off), hv_gva_add(d->at, at), scratch,
				    sizeof(scratch));
		if (!len || !moved)
			return;
		at += moved;
	}
}

static bool is_entry_detour(const struct hv_detour *d, const uint8_t *code)
{
	uint8_t made[HV_DETOUR_LEN_MAX];
	struct hv_detour same = *d;

	same.kind = HV_DETOUR_ENTRY;
	same.trampoline = d->at;
	if (!x86_64_make_detour(&same, made))
		return false;
	memcpy(made + ENTRY_TRAMPOLINE_OFF, code + ENTRY_TRAMPOLINE_OFF, sizeof(uint32_t));
	return memcmp(made, code, HV_DETOUR_LEN) == 0;
}

bool x86_64_is_probe_detour(const struct hv_detour *d, const uint8_t *code)
{
	uint8_t made[HV_DETOUR_LEN_MAX];
	size_t trampolines[HV_DETOUR_PROBES_MAX], nr_blocks;
	struct hv_detour same = *d;

	if (is_entry_detour(d, code))
		return true;
	same.trampoline = d->at; /* the address does not matter, but it must be in reach */
	find_probes(&same, code, trampolines);
	nr_blocks = x86_64_make_detour(&same, made);
	if (!nr_blocks || !same.nr_probes)
		return false;
	for (unsigned i = 0; i < same.nr_probes; i++)
		memcpy(made + trampolines[i], code + trampolines[i], sizeof(uint32_t));
	return memcmp(made, code, nr_blocks * HV_DETOUR_LEN) == 0;
}
