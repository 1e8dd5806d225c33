/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds which instructions can be executed at another address, and moves them, with capstone.
 * Values relative to the instruction's address are adjusted. A moved call pushes the return address
 * of the original, so no stack contains an address of the moved code. */
#include "arch/x86_64/x86_64.h"

#include <string.h>

#include <capstone/capstone.h>

#define JMP_LEN	 5
#define INSN_MAX 15

#define OP_JMP_SHORT   0xeb
#define OP_JMP	       0xe9
#define OP_CALL	       0xe8
#define OP_PUSH	       0x68
#define OP_BRANCH      0x0f
#define BRANCH_TO_LONG 0x10 /* from a short branch's opcode to a long one's second byte */

#define PREFIX_LOCK 0xf0
#define PREFIX_DS   0x3e

struct decoder {
	csh capstone;
	cs_insn *insn; /* owned */
};

static bool decoder_open(struct decoder *d)
{
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &d->capstone) != CS_ERR_OK)
		return false;
	cs_option(d->capstone, CS_OPT_DETAIL, CS_OPT_ON);
	d->insn = cs_malloc(d->capstone);
	return true;
}

static void decoder_close(struct decoder *d)
{
	if (d->insn)
		cs_free(d->insn, 1);
	cs_close(&d->capstone);
}

static bool decode(struct decoder *d, struct hv_span code, uint64_t at)
{
	return d->insn && cs_disasm_iter(d->capstone, &code.data, &code.len_bytes, &at, d->insn);
}

static bool is_in_group(const cs_insn *insn, uint8_t group)
{
	for (unsigned i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == group)
			return true;
	return false;
}

static bool is_call(const cs_insn *insn)
{
	return is_in_group(insn, CS_GRP_CALL);
}

static bool is_jump(const cs_insn *insn)
{
	return is_in_group(insn, CS_GRP_JUMP);
}

/* Returns whether INSN is a jump or call with a relative target. */
static bool has_distance(const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;

	return (is_call(insn) || is_jump(insn)) && x86->op_count == 1 &&
	       x86->operands[0].type == X86_OP_IMM;
}

static bool is_branch(const cs_insn *insn)
{
	return (insn->bytes[0] & 0xf0) == 0x70 ||
	       (insn->bytes[0] == OP_BRANCH && (insn->bytes[1] & 0xf0) == 0x80);
}

/* Returns whether a jump or call with a relative target can be moved. */
static bool is_known_form(const cs_insn *insn)
{
	uint8_t op = insn->bytes[0];

	return is_branch(insn) || op == OP_JMP || op == OP_JMP_SHORT || op == OP_CALL;
}

/* Returns the memory operand that is relative to %rip, or NULL. */
static const cs_x86_op *relative_operand(const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;

	for (unsigned i = 0; i < x86->op_count; i++)
		if (x86->operands[i].type == X86_OP_MEM && x86->operands[i].mem.base == X86_REG_RIP)
			return &x86->operands[i];
	return NULL;
}

/* Returns whether execution does not continue at the next instruction, or only after a call. */
static bool is_last_of_its_path(const cs_insn *insn)
{
	return is_in_group(insn, CS_GRP_RET) || is_call(insn) ||
	       (is_jump(insn) && !is_branch(insn));
}

/* Returns the reason why INSN cannot be executed elsewhere, or NULL. */
static const char *why_not(const cs_insn *insn)
{
	const uint8_t *prefix = insn->detail->x86.prefix;

	if (is_in_group(insn, CS_GRP_INT) || is_in_group(insn, CS_GRP_IRET) ||
	    is_in_group(insn, CS_GRP_PRIVILEGE))
		return "an instruction there is privileged, so it cannot be moved";
	switch (insn->id) {
	case X86_INS_UD0:
	case X86_INS_UD2:
	case X86_INS_UD2B:
	case X86_INS_INT3:
		return "an instruction there raises an exception";
	case X86_INS_POPF:
	case X86_INS_POPFD:
	case X86_INS_POPFQ:
	case X86_INS_STAC:
	case X86_INS_CLAC:
		return "an instruction there changes system flags";
	case X86_INS_XBEGIN:
	case X86_INS_LOOP:
	case X86_INS_LOOPE:
	case X86_INS_LOOPNE:
	case X86_INS_JRCXZ:
	case X86_INS_JECXZ:
	case X86_INS_JCXZ:
		return "a jump there has no longer form";
	default:
		break;
	}
	/* endbr64 is the target of an indirect branch. */
	if (insn->size == 4 && memcmp(insn->bytes, "\xf3\x0f\x1e\xfa", 4) == 0)
		return "an indirect branch leads there";
	if (prefix[0] == PREFIX_LOCK || prefix[1] == PREFIX_DS)
		return "the kernel itself changes the prefix of an instruction there";
	if ((is_call(insn) || is_jump(insn)) && !(has_distance(insn) && is_known_form(insn)))
		return "an indirect jump or call is there";
	return NULL;
}

const char *x86_64_find_movable(struct hv_span code, struct hv_gva at, size_t *ret_len,
				unsigned *ret_nr)
{
	struct decoder d = {0};
	size_t len = 0;
	unsigned nr = 0;
	const char *why = decoder_open(&d) ? NULL : "no disassembler";
	bool ends = false;

	while (!why && len < JMP_LEN) {
		struct hv_span rest = {code.data + len, code.len_bytes - len};

		if (ends)
			why = "a call, jump or return is in the way of a jump of five bytes";
		else if (!decode(&d, rest, at.v + len))
			why = rest.len_bytes ? "hvtrace does not know an instruction there"
					     : "the function ends within five bytes";
		else
			why = why_not(d.insn);
		if (why)
			break;
		ends = is_last_of_its_path(d.insn);
		len += d.insn->size;
		nr++;
	}
	decoder_close(&d);
	if (!why && len > HV_DETOUR_INSN_MAX)
		why = "the instructions there are too long";
	if (!why) {
		*ret_len = len;
		*ret_nr = nr;
	}
	return why;
}

/* -- entries of functions ---------------------------------------------------------------------- */

/* Instructions that only compute with registers and memory. The kernel patches none of them while
 * it runs, apart from their lock prefix and is_empty_static_call(), and no conditional jump: static
 * keys are nops and jumps, static calls are calls, jumps and returns. */
static bool only_computes(const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_ADD:
	case X86_INS_AND:
	case X86_INS_CMP:
	case X86_INS_DEC:
	case X86_INS_IMUL:
	case X86_INS_INC:
	case X86_INS_LEA:
	case X86_INS_MOV:
	case X86_INS_MOVABS:
	case X86_INS_MOVSX:
	case X86_INS_MOVSXD:
	case X86_INS_MOVZX:
	case X86_INS_NEG:
	case X86_INS_NOT:
	case X86_INS_OR:
	case X86_INS_POP:
	case X86_INS_PUSH:
	case X86_INS_SAR:
	case X86_INS_SHL:
	case X86_INS_SHR:
	case X86_INS_SUB:
	case X86_INS_TEST:
	case X86_INS_XOR:
		return true;
	default:
		return false;
	}
}

/* Returns whether INSN can be a static call that returns 0: xorl %eax, %eax or xorq %rax, %rax with
 * prefixes that fill the five bytes of a call (xor5rax in arch/x86/kernel/static_call.c). */
static bool is_empty_static_call(const cs_insn *insn)
{
	return insn->id == X86_INS_XOR && insn->size == X86_64_SITE_LEN &&
	       (insn->bytes[0] == 0x2e || insn->bytes[0] == 0x66);
}

/* Returns whether INSN moves to or from a segment, control or debug register. */
static bool moves_system_register(const cs_insn *insn)
{
	const uint8_t *opcode = insn->detail->x86.opcode;

	return opcode[0] == 0x8c || opcode[0] == 0x8e ||
	       (opcode[0] == 0x0f && (opcode[1] & 0xf8) == 0x20);
}

static bool uses_memory(const cs_insn *insn)
{
	const cs_x86 *x86 = &insn->detail->x86;

	for (unsigned i = 0; i < x86->op_count && insn->id != X86_INS_LEA; i++)
		if (x86->operands[i].type == X86_OP_MEM)
			return true;
	return false;
}

static size_t skip_markers(struct hv_span code, enum hv_entry_nop nop)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa};
	/* The kernel replaces the endbr64 of functions that are never called indirectly. */
	static const uint8_t sealed[] = {0x0f, 0x1f, 0x40, 0xd6}, poison[] = {0x0f, 0x1f, 0x00};
	struct hv_gva unused;
	size_t off = 0;

	if (hv_span_has(code, 0, 4) &&
	    (memcmp(code.data, endbr, 4) == 0 || memcmp(code.data, sealed, 4) == 0 ||
	     (code.data[0] == 0x66 && !memcmp(code.data + 1, poison, 3))))
		off = 4;
	if (nop == HV_ENTRY_NOP_FTRACE && hv_span_has(code, off, X86_64_SITE_LEN) &&
	    x86_64_classify_site(code.data + off, hv_gva(0), &unused) == HV_SITE_NOP)
		off += X86_64_SITE_LEN;
	return off;
}

/* Returns the reason why INSN cannot be executed elsewhere, or NULL. */
static const char *why_not_at_entry(const cs_insn *insn)
{
	const char *why = why_not(insn);

	if (is_last_of_its_path(insn))
		return "a call, jump or return is at its start";
	if (why)
		return "an instruction at its start cannot be moved";
	if ((!only_computes(insn) && !is_branch(insn)) || moves_system_register(insn) ||
	    is_empty_static_call(insn))
		return "an instruction at its start may be changed by the kernel";
	return NULL;
}

const char *x86_64_find_entry(struct hv_span code, struct hv_gva at, enum hv_entry_nop nop,
			      struct hv_entry_insns *ret)
{
	struct hv_entry_insns e = {.off = skip_markers(code, nop)};
	struct decoder d = {0};
	const char *why = decoder_open(&d) ? NULL : "no disassembler";

	while (!why && e.len_bytes < JMP_LEN) {
		size_t off = e.off + e.len_bytes;
		struct hv_span rest = {code.data + off, code.len_bytes - off};

		if (!rest.len_bytes)
			why = "it is too short";
		else if (!decode(&d, rest, at.v + off))
			why = "an instruction at its start is unknown";
		else
			why = why_not_at_entry(d.insn);
		if (why)
			break;
		e.uses_memory |= uses_memory(d.insn);
		e.len_bytes += d.insn->size;
		e.nr++;
	}
	decoder_close(&d);
	if (!why && e.len_bytes > HV_DETOUR_INSN_MAX)
		why = "an instruction at its start is too long";
	if (!why)
		*ret = e;
	return why;
}

static bool is_prefix(uint8_t byte)
{
	static const uint8_t legacy[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					 0x66, 0x67, 0xf0, 0xf2, 0xf3};

	return memchr(legacy, byte, sizeof(legacy)) || (byte & 0xf0) == 0x40; /* REX */
}

/* Checks bytes, because capstone does not know all forms of ud0 and ud1, which have operands. */
bool x86_64_raises_exception(struct hv_span code)
{
	static const uint8_t one[] = {0xcc, 0xcd, 0xce, 0xf1}; /* int3, int, into, int1 */
	static const uint8_t two[] = {0xff, 0xb9, 0x0b};       /* ud0, ud1, ud2 */
	size_t off = 0;

	while (off < code.len_bytes && off < INSN_MAX && is_prefix(code.data[off]))
		off++;
	if (off == code.len_bytes || off == INSN_MAX)
		return false;
	if (code.data[off] != OP_BRANCH)
		return memchr(one, code.data[off], sizeof(one));
	return off + 1 < code.len_bytes && memchr(two, code.data[off + 1], sizeof(two));
}

bool x86_64_leads_into(struct hv_span text, struct hv_gva start, struct hv_gva_range range)
{
	uint32_t first = (uint32_t)range.start.v, nr = (uint32_t)(range.end.v - range.start.v);
	uint32_t end = (uint32_t)start.v + sizeof(uint32_t), distance;
	bool found = false;

	for (size_t off = 0; off + sizeof(distance) <= text.len_bytes; off++) {
		memcpy(&distance, text.data + off, sizeof(distance));
		found |= end + (uint32_t)off + distance - first < nr;
	}
	return found;
}

/* The bytes can be a sign-extended immediate or displacement, or a displacement from their own end,
 * which is also the end of the instruction unless an immediate follows. */
unsigned x86_64_references_at(struct hv_span code, struct hv_gva at,
			      struct hv_gva ret[HV_REFERENCES_MAX])
{
	int32_t word;

	if (!hv_span_has(code, 0, sizeof(word)))
		return 0;
	memcpy(&word, code.data, sizeof(word));
	ret[0] = hv_gva((uint64_t)(int64_t)word);
	ret[1] = hv_gva(at.v + sizeof(word) + (uint64_t)(int64_t)word);
	return 2;
}

/* -- moving ------------------------------------------------------------------------------------ */

struct moving {
	struct hv_gva at; /* of the first byte */
	uint8_t *code;
	size_t len, max;
	bool misfits;
};

static void put(struct moving *m, const void *bytes, size_t len)
{
	if (m->len + len > m->max) {
		m->misfits = true;
		return;
	}
	memcpy(m->code + m->len, bytes, len);
	m->len += len;
}

static void put_s32(struct moving *m, uint64_t value)
{
	int32_t low = (int32_t)value;

	m->misfits |= (uint64_t)(int64_t)low != value;
	put(m, &low, sizeof(low));
}

/* Adds the distance to TARGET as the last four bytes of an instruction. */
static void put_distance(struct moving *m, uint64_t target)
{
	put_s32(m, target - (m->at.v + m->len + sizeof(int32_t)));
}

static void move_distance(struct moving *m, const cs_insn *insn)
{
	uint64_t target = (uint64_t)insn->detail->x86.operands[0].imm;
	uint8_t op = insn->bytes[0];

	if (op == OP_CALL) { /* pushq $return address of the original; jmp */
		put(m, (const uint8_t[]){OP_PUSH}, 1);
		put_s32(m, insn->address + insn->size);
	}
	if (is_branch(insn)) {
		uint8_t second = op == OP_BRANCH ? insn->bytes[1] : op + BRANCH_TO_LONG;

		put(m, (const uint8_t[]){OP_BRANCH, second}, 2);
	} else {
		put(m, (const uint8_t[]){OP_JMP}, 1);
	}
	put_distance(m, target);
}

/* Returns the address of the last decoded instruction's relative operand. */
static uint64_t operand_at(const cs_insn *insn)
{
	return insn->address + insn->size + (uint64_t)relative_operand(insn)->mem.disp;
}

/* Adds the instruction with an adjusted displacement. Decodes the result to verify that the right
 * bytes were changed. */
static void move_relative(struct moving *m, struct decoder *d)
{
	uint64_t target = operand_at(d->insn), at = m->at.v + m->len;
	uint8_t off = d->insn->detail->x86.encoding.disp_offset;
	uint64_t disp = target - (at + d->insn->size);
	size_t len = d->insn->size;
	unsigned id = d->insn->id;
	int32_t low = (int32_t)disp;
	uint8_t bytes[16];

	m->misfits |= (uint64_t)(int64_t)low != disp || !off || off + sizeof(low) > len ||
		      len > sizeof(bytes);
	if (m->misfits)
		return;
	memcpy(bytes, d->insn->bytes, len);
	memcpy(bytes + off, &low, sizeof(low));
	m->misfits |= !decode(d, (struct hv_span){bytes, len}, at) || d->insn->id != id ||
		      d->insn->size != len || !relative_operand(d->insn) ||
		      operand_at(d->insn) != target;
	put(m, bytes, len);
}

size_t x86_64_movable_length(struct hv_span code, struct hv_gva at)
{
	struct decoder d = {0};
	size_t len = 0;

	if (decoder_open(&d) && decode(&d, code, at.v) && !why_not(d.insn))
		len = d.insn->size;
	decoder_close(&d);
	return len;
}

size_t x86_64_move(struct hv_span insns, struct hv_gva from, struct hv_gva at, uint8_t *ret,
		   size_t max)
{
	struct moving m = {.at = at, .code = ret, .max = max};
	struct decoder d = {0};

	m.misfits = !decoder_open(&d);
	for (size_t off = 0; !m.misfits && off < insns.len_bytes;) {
		struct hv_span rest = {insns.data + off, insns.len_bytes - off};

		if (!decode(&d, rest, from.v + off) || why_not(d.insn)) {
			m.misfits = true;
			break;
		}
		off += d.insn->size;
		if (has_distance(d.insn))
			move_distance(&m, d.insn);
		else if (relative_operand(d.insn))
			move_relative(&m, &d);
		else
			put(&m, d.insn->bytes, d.insn->size);
	}
	decoder_close(&d);
	return m.misfits ? 0 : m.len;
}
