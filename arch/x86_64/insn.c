/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decodes instructions: finds the length of one, and what each instruction of a function does. */
#include "arch/x86_64/x86_64.h"

#include <capstone/capstone.h>
#include <string.h>

/* -- the length of an instruction -------------------------------------------------------------- */

/* Finds the length of an instruction with the architecture manual's opcode maps, and decodes
 * nothing else. This is a hundred times faster than capstone. It is used to find the few functions
 * that capstone must examine. Returns 0 for unsupported instructions, such as VEX and those that
 * compilers never emit. */

#define INSN_MAX 15

#define REX_W	   0x08
#define MODRM_REG  0x38
#define TWO_BYTES  0x0f
#define OPERAND_16 0x66
#define ADDRESS_32 0x67

/* The operands of an opcode:
 *   n nothing, m ModRM, M ModRM and a byte, Z ModRM and a word of the operand's size,
 *   b a byte, w two bytes, e three bytes, z a word of the operand's size, j four bytes,
 *   v like z, but eight bytes with REX.W, q an address,
 *   f ModRM, and a byte if the register field is 0 or 1, F like f with such a word,
 *   p a prefix, x REX, ? unknown. */
static const char one_byte[] = "mmmmbz??mmmmbz??" /* 00 */
			       "mmmmbz??mmmmbz??"
			       "mmmmbzp?mmmmbzp?"
			       "mmmmbzp?mmmmbzp?"
			       "xxxxxxxxxxxxxxxx" /* 40 */
			       "nnnnnnnnnnnnnnnn"
			       "???mppppzZbMnnnn"
			       "bbbbbbbbbbbbbbbb"
			       "MZ?Mmmmmmmmmmmm?" /* 80 */
			       "nnnnnnnnnn?nnnnn"
			       "qqqqnnnnbznnnnnn"
			       "bbbbbbbbvvvvvvvv"
			       "MMwn??MZenwnnb?n" /* c0 */
			       "mmmm???nmmmmmmmm"
			       "bbbbbbbbjj?bnnnn"
			       "pnppnnfFnnnnnnmm";

/* The same after 0x0f. 3 and A: another opcode byte, then ModRM; A also has a byte. */
static const char two_bytes[] = "mmmm?nnnnn?n?m??" /* 00 */
				"mmmmmmmmmmmmmmmm"
				"????????mmmmmmmm"
				"nnnnnn?n3?A?????"
				"mmmmmmmmmmmmmmmm" /* 40 */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"MMMMmmmn????mmmm"
				"jjjjjjjjjjjjjjjj" /* 80 */
				"mmmmmmmmmmmmmmmm"
				"nnnmMm??nnnmMmmm"
				"mmmmmmmmmmMmmmmm"
				"mmMmMMMmnnnnnnnn" /* c0 */
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmmm"
				"mmmmmmmmmmmmmmm?";

struct insn {
	struct hv_span code;
	size_t len;
	bool has_operand_16, has_address_32, has_rex_w;
	bool is_unknown;
};

static uint8_t next(struct insn *i)
{
	if (i->len < INSN_MAX && hv_span_has(i->code, i->len, 1))
		return i->code.data[i->len++];
	i->is_unknown = true;
	return 0;
}

/* REX must be the last prefix. Elsewhere it has no effect, and compilers do not emit that. */
static char take_prefixes(struct insn *i, uint8_t *ret_opcode)
{
	uint8_t byte = next(i);
	char form;

	for (; one_byte[byte] == 'p' && !i->is_unknown; byte = next(i)) {
		i->has_operand_16 |= byte == OPERAND_16;
		i->has_address_32 |= byte == ADDRESS_32;
	}
	if (one_byte[byte] == 'x') {
		i->has_rex_w = byte & REX_W;
		byte = next(i);
	}
	*ret_opcode = byte;
	form = byte == TWO_BYTES ? two_bytes[next(i)] : one_byte[byte];
	if (form == '3' || form == 'A')
		next(i);
	return form;
}

/* Returns the register field. */
static unsigned take_modrm(struct insn *i)
{
	uint8_t modrm = next(i);
	unsigned mod = modrm >> 6, rm = modrm & 7;
	bool has_sib = mod != 3 && rm == 4;
	unsigned base = has_sib ? next(i) & 7u : rm;

	if (mod == 1)
		i->len += 1;
	else if (mod == 2 || (mod == 0 && base == 5))
		i->len += 4;
	return (modrm & MODRM_REG) >> 3;
}

static void take_word(struct insn *i)
{
	i->is_unknown |= i->has_operand_16 && i->has_rex_w;
	i->len += i->has_operand_16 ? 2 : 4;
}

static void take_operands(struct insn *i, char form)
{
	unsigned reg = 0;

	if (form == 'm' || form == 'M' || form == 'Z' || form == 'f' || form == 'F' ||
	    form == '3' || form == 'A')
		reg = take_modrm(i);
	if (form == 'b' || form == 'M' || form == 'A' || (form == 'f' && reg < 2))
		i->len += 1;
	else if (form == 'z' || form == 'Z' || (form == 'F' && reg < 2))
		take_word(i);
	else if (form == 'w')
		i->len += 2;
	else if (form == 'e')
		i->len += 3;
	else if (form == 'j')
		i->len += 4;
	else if (form == 'v' && i->has_rex_w)
		i->len += 8;
	else if (form == 'v')
		take_word(i);
	else if (form == 'q')
		i->len += 8;
	/* Processors disagree on 16-bit jumps. */
	i->is_unknown |= form == 'j' && i->has_operand_16;
	i->is_unknown |= form == 'q' && i->has_address_32;
	i->is_unknown |= form == 'p' || form == 'x' || form == '?';
}

size_t x86_64_insn_length(struct hv_span code, uint8_t *ret_opcode)
{
	struct insn i = {.code = code};
	char form = take_prefixes(&i, ret_opcode);

	take_operands(&i, form);
	if (i.is_unknown || i.len > INSN_MAX || !hv_span_has(code, 0, i.len))
		return 0;
	return i.len;
}

/* -- jumps of a function ----------------------------------------------------------------------- */

#define RET_NEAR_IMM 0xc2
#define RET_NEAR     0xc3
#define INT3	     0xcc
#define CALL	     0xe8
#define JMP	     0xe9
#define JMP_SHORT    0xeb
#define HLT	     0xf4
#define GROUP_5	     0xff /* its register field: 4 and 5 are jumps */

/* An instruction whose length and opcode are known. */
struct fast_insn {
	const uint8_t *end;
	size_t len;
	uint8_t opcode, second;
	uint8_t modrm_reg;
};

static struct fast_insn fast_insn(struct hv_span code, size_t len, uint8_t opcode)
{
	const uint8_t *at = code.data, *last = code.data + len - 1;

	while (at < last && *at != opcode) /* prefixes */
		at++;
	return (struct fast_insn){
		.end = code.data + len,
		.len = len,
		.opcode = opcode,
		.second = at < last ? at[1] : 0,
		.modrm_reg = at < last ? (at[1] & MODRM_REG) >> 3 : 0,
	};
}

static bool is_fast_branch(const struct fast_insn *i)
{
	return i->opcode == TWO_BYTES && (i->second & 0xf0) == 0x80;
}

/* Stores the distance of a jump or call with a relative target. */
static bool has_distance(const struct fast_insn *i, int64_t *ret)
{
	int32_t distance;

	if ((i->opcode & 0xf0) == 0x70 || (i->opcode & 0xfc) == 0xe0 || i->opcode == JMP_SHORT) {
		*ret = (int8_t)i->end[-1];
		return true;
	}
	if (i->opcode != CALL && i->opcode != JMP && !is_fast_branch(i))
		return false;
	memcpy(&distance, i->end - sizeof(distance), sizeof(distance));
	*ret = distance;
	return true;
}

static bool is_indirect_jump(const struct fast_insn *i)
{
	return i->opcode == GROUP_5 && (i->modrm_reg == 4 || i->modrm_reg == 5);
}

/* Returns whether execution does not continue at the next instruction. A call counts, because one
 * at the end of a function does not return. */
static bool ends_path(const struct fast_insn *i)
{
	return i->opcode == RET_NEAR || i->opcode == RET_NEAR_IMM || i->opcode == INT3 ||
	       i->opcode == JMP || i->opcode == JMP_SHORT || i->opcode == CALL ||
	       i->opcode == HLT || is_indirect_jump(i) ||
	       (i->opcode == TWO_BYTES && i->second == 0x0b /* ud2 */);
}

struct hv_function_scan x86_64_scan_function(struct hv_span code, struct hv_gva at, hv_target_fn fn,
					     void *ctx)
{
	struct hv_function_scan scan = {.continues_after = true, .is_idle = true};

	while (scan.len_bytes < code.len_bytes) {
		struct hv_span rest = {code.data + scan.len_bytes, code.len_bytes - scan.len_bytes};
		uint8_t opcode;
		size_t len = x86_64_insn_length(rest, &opcode);
		struct fast_insn insn;
		int64_t distance;

		if (!len) {
			scan.continues_after = true;
			scan.is_idle = false;
			break;
		}
		insn = fast_insn(rest, len, opcode);
		scan.len_bytes += len;
		if (has_distance(&insn, &distance))
			fn(ctx, hv_gva(at.v + scan.len_bytes + (uint64_t)distance), opcode == CALL);
		scan.is_indirect |= is_indirect_jump(&insn);
		if (x86_64_nop_length(rest))
			continue;
		scan.continues_after = !ends_path(&insn);
		scan.is_idle = false;
	}
	return scan;
}

static void mark(struct hv_span text, uint64_t off, uint8_t *bits)
{
	if (off < text.len_bytes)
		bits[off / 8] |= (uint8_t)(1u << off % 8);
}

/* Returns the offset of the distance in the long jump or call at OFF, or 0 if there is none. */
static size_t distance_off(struct hv_span text, size_t off)
{
	const uint8_t *at = text.data + off;

	if (at[0] == CALL || at[0] == JMP)
		return 1;
	if (!hv_span_has(text, off, 2))
		return 0;
	return (at[0] == TWO_BYTES && (at[1] & 0xf0) == 0x80) ||
			       (at[0] == 0xc7 && at[1] == 0xf8) /* xbegin */
		       ? 2
		       : 0;
}

static void mark_long(struct hv_span text, size_t off, uint8_t *bits)
{
	size_t at = distance_off(text, off);
	int32_t distance;

	if (!at || !hv_span_has(text, off + at, sizeof(distance)))
		return;
	memcpy(&distance, text.data + off + at, sizeof(distance));
	mark(text, off + at + sizeof(distance) + (uint64_t)(int64_t)distance, bits);
}

static void mark_short(struct hv_span text, size_t off, uint8_t *bits)
{
	uint8_t opcode = text.data[off];

	if (((opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || opcode == JMP_SHORT) &&
	    hv_span_has(text, off, 2))
		mark(text, off + 2 + (uint64_t)(int64_t)(int8_t)text.data[off + 1], bits);
}

void x86_64_mark_jumps(struct hv_span text, size_t piece_start, size_t piece_end,
		       enum hv_jump_length length, uint8_t *bits)
{
	for (size_t off = piece_start; off < piece_end && off < text.len_bytes; off++)
		if (length == HV_JUMP_LONG)
			mark_long(text, off, bits);
		else
			mark_short(text, off, bits);
}

/* -- walking ----------------------------------------------------------------------------------- */

/* Walks through instructions with capstone. `pushf` does not count as a use of the status flags:
 * the kernel saves the interrupt flag with it, and does not use the restored status flags. */

/* Capstone's bits for a status flag. AF is omitted: compilers emit no instruction that depends on
 * it. */
static const struct {
	uint64_t used;
	uint64_t set;
} flags[] = {
#define FLAG(name)                                                                                 \
	{                                                                                          \
		X86_EFLAGS_TEST_##name, X86_EFLAGS_MODIFY_##name | X86_EFLAGS_RESET_##name |       \
						X86_EFLAGS_UNDEFINED_##name                        \
	}
	FLAG(OF),
	FLAG(SF),
	FLAG(ZF),
	FLAG(PF),
	{X86_EFLAGS_TEST_CF,
	 X86_EFLAGS_MODIFY_CF | X86_EFLAGS_RESET_CF | X86_EFLAGS_SET_CF | X86_EFLAGS_UNDEFINED_CF},
#undef FLAG
};

static unsigned flags_used(uint64_t eflags)
{
	unsigned found = 0;

	for (unsigned i = 0; i < HV_ARRAY_LEN(flags); i++)
		found |= eflags & flags[i].used ? 1u << i : 0;
	return found;
}

static unsigned flags_set(uint64_t eflags)
{
	unsigned found = 0;

	for (unsigned i = 0; i < HV_ARRAY_LEN(flags); i++)
		found |= eflags & flags[i].set ? 1u << i : 0;
	return found;
}

static bool is_in_group(const cs_detail *detail, uint8_t group)
{
	for (unsigned i = 0; i < detail->groups_count; i++)
		if (detail->groups[i] == group)
			return true;
	return false;
}

static bool leaves(const cs_detail *detail)
{
	return is_in_group(detail, CS_GRP_CALL) || is_in_group(detail, CS_GRP_RET) ||
	       is_in_group(detail, CS_GRP_IRET) || is_in_group(detail, CS_GRP_JUMP);
}

/* For some instructions (adc) capstone does not report the flags that they depend on. String
 * instructions depend on the direction flag, which is not a status flag. */
static bool depends_on_some(const cs_insn *insn)
{
	if (insn->id == X86_INS_PUSHF || insn->id == X86_INS_PUSHFD || insn->id == X86_INS_PUSHFQ ||
	    insn->detail->x86.eflags & X86_EFLAGS_TEST_DF)
		return false;
	for (unsigned i = 0; i < insn->detail->regs_read_count; i++)
		if (insn->detail->regs_read[i] == X86_REG_EFLAGS)
			return true;
	return false;
}

static enum hv_irq_effect irqs_of(const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_CLI:
		return HV_IRQ_OFF;
	case X86_INS_STI:
		return HV_IRQ_ON;
	case X86_INS_POPF:
	case X86_INS_POPFD:
	case X86_INS_POPFQ:
		return HV_IRQ_RESTORES;
	default:
		return HV_IRQ_KEEPS;
	}
}

static void read_insn(const cs_insn *from, struct hv_insn *ret)
{
	const cs_x86 *x86 = &from->detail->x86;
	bool is_relative =
		is_in_group(from->detail, CS_GRP_JUMP) || is_in_group(from->detail, CS_GRP_CALL);

	*ret = (struct hv_insn){
		.at = hv_gva(from->address),
		.len_bytes = from->size,
		.irqs = irqs_of(from),
		.is_call = is_in_group(from->detail, CS_GRP_CALL),
		.is_jump = is_in_group(from->detail, CS_GRP_JUMP),
	};
	/* For FPU instructions capstone's bits have another meaning. */
	if (!is_in_group(from->detail, X86_GRP_FPU)) {
		ret->flags_used = flags_used(x86->eflags);
		ret->flags_set = flags_set(x86->eflags);
	}
	if (!ret->flags_used && depends_on_some(from))
		ret->flags_used = HV_FLAGS_ALL;
	if (leaves(from->detail))
		ret->flags_set = HV_FLAGS_ALL;
	if (is_relative && x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM) {
		ret->has_target = true;
		ret->target = hv_gva((uint64_t)x86->operands[0].imm);
	}
}

/* Capstone ignores the operands of ud0 and ud1, and decodes them as instructions. */
static bool has_operands(const cs_insn *insn)
{
	return insn->id == X86_INS_UD0 || insn->id == X86_INS_UD2B;
}

/* Instructions that capstone (4.0.2) does not know, but that occur in kernel functions which count
 * preemption or change the interrupt flag. They flush the TLBs of all processors, and neither use
 * nor change status flags (AMD64 Architecture Programmer's Manual, volume 3). */
static const uint8_t plain_insns[][3] = {
	{0x0f, 0x01, 0xfe}, /* invlpgb */
	{0x0f, 0x01, 0xff}, /* tlbsync */
};

static bool is_plain(struct hv_span code)
{
	for (size_t i = 0; i < HV_ARRAY_LEN(plain_insns); i++)
		if (hv_span_has(code, 0, sizeof(plain_insns[i])) &&
		    memcmp(code.data, plain_insns[i], sizeof(plain_insns[i])) == 0)
			return true;
	return false;
}

struct walk {
	csh capstone;
	const uint8_t *next;
	size_t left_bytes;
	uint64_t address;
	bool has_lost_its_way; /* the length of the last instruction is unknown */
};

static void go_behind(struct walk *w, struct hv_span code, const struct hv_insn *read)
{
	w->next = code.data + read->len_bytes;
	w->left_bytes = code.len_bytes - read->len_bytes;
	w->address = read->at.v + read->len_bytes;
}

/* Reads the next instruction into RET, with capstone's buffer INSN. Returns false at the end and at
 * an unknown instruction. Processors disagree on whether ud0 has operands. The warnings of newer
 * kernels use ud1, and execution continues after it. */
static bool read_next(struct walk *w, cs_insn *insn, struct hv_insn *ret)
{
	struct hv_span code = {w->next, w->left_bytes};
	uint8_t opcode;
	size_t len;

	if (is_plain(code)) {
		*ret = (struct hv_insn){.at = hv_gva(w->address),
					.len_bytes = sizeof(plain_insns[0])};
		go_behind(w, code, ret);
		return true;
	}
	if (!cs_disasm_iter(w->capstone, &w->next, &w->left_bytes, &w->address, insn))
		return false;
	read_insn(insn, ret);
	if (!has_operands(insn))
		return true;
	len = x86_64_insn_length(code, &opcode);
	w->has_lost_its_way = !len;
	if (len)
		ret->len_bytes = len;
	go_behind(w, code, ret);
	return true;
}

size_t x86_64_walk_code(struct hv_span code, struct hv_gva at, hv_insn_fn fn, void *ctx)
{
	struct walk w = {.next = code.data, .left_bytes = code.len_bytes, .address = at.v};
	size_t understood = 0;
	struct hv_insn read;
	cs_insn *insn;

	if (cs_open(CS_ARCH_X86, CS_MODE_64, &w.capstone) != CS_ERR_OK)
		return 0;
	cs_option(w.capstone, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(w.capstone);
	while (insn && w.left_bytes && read_next(&w, insn, &read) && fn(ctx, &read) &&
	       !w.has_lost_its_way)
		understood += read.len_bytes;
	if (insn)
		cs_free(insn, 1);
	cs_close(&w.capstone);
	return understood;
}
