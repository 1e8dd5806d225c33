/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the members of structures that a function uses: decodes it with capstone and follows
 * pointers from its arguments and from variables through its registers. It does not follow values
 * on the stack. */
#include "arch/x86_64/x86_64.h"

#include <capstone/capstone.h>

/* The values of registers are followed to a fixed point over all paths through the function. Where
 * paths meet, only registers with the same value on all of them are known. Registers that an
 * instruction may change become unknown, so each reported use is real.
 *
 * Every step only makes values unknown, which bounds the work: the values at an instruction change
 * at most once for each register. */

#define CODE_MAX_BYTES 4096u
#define INSNS_MAX      1024u
#define NO_INSN	       UINT16_MAX
#define OP_CALL	       0xe8

enum {
	RAX,
	RCX,
	RDX,
	RBX,
	RSP,
	RBP,
	RSI,
	RDI,
	R8,
	R9,
	R10,
	R11,
	NR_REGISTERS = 16,
	NO_REGISTER = NR_REGISTERS
};

#define BIT(reg) ((uint16_t)(1u << (reg)))
#define ALL	 UINT16_MAX
/* Changed by calls. */
#define CALLER_SAVED                                                                               \
	(BIT(RAX) | BIT(RCX) | BIT(RDX) | BIT(RSI) | BIT(RDI) | BIT(R8) | BIT(R9) | BIT(R10) |     \
	 BIT(R11))

static const uint8_t arguments[] = {RDI, RSI, RDX, RCX, R8, R9};

/* -- instructions ------------------------------------------------------------------------------ */

struct memory {
	enum {
		NO_MEMORY,	 /* no memory operand, or one that is not reported */
		MEMORY_REGISTER, /* AT bytes after the value of REG */
		MEMORY_FLAT,	 /* at the address AT */
		MEMORY_PERCPU,	 /* at the per-CPU address AT */
	} kind;
	uint8_t reg;
	uint64_t at;
	bool is_written;
	unsigned len_bytes;
};

/* The value that register TO gets. */
struct result {
	enum {
		RESULT_UNKNOWN,
		RESULT_SUM,  /* register FROM plus DISTANCE */
		RESULT_LOAD, /* the memory operand; the rest of the register is 0 */
		RESULT_PART, /* the memory operand, in the low part of the register */
	} kind;
	uint8_t to; /* or NO_REGISTER */
	uint8_t from;
	int64_t distance;
};

struct insn {
	uint16_t off;
	uint16_t changes; /* bits of the registers that become unknown, unless they get RESULT */
	struct memory memory;
	struct result result;
	/* An instruction with a constant, in the first operand: the memory operand, or the low
	 * TESTED_LEN bytes of the register TESTED. */
	bool has_mask;
	uint64_t mask;
	uint8_t tested; /* or NO_REGISTER */
	uint8_t tested_len;
	bool may_test_part; /* the bits of MASK are used independently of each other */
	bool continues;	    /* the next instruction may follow */
	bool has_target;
	uint64_t target_address;
	uint16_t target; /* index of the instruction at target_address, or NO_INSN */
};

/* How an instruction uses its operands. */
enum {
	READS = 1,	   /* the first operand */
	WRITES = 2,	   /* the first operand */
	WRITES_BOTH = 4,   /* the first and the second operand */
	CONSTANT = 8,	   /* a constant as second operand is a mask */
	BIT_NUMBER = 16,   /* the second operand is the number of a bit */
	INDEPENDENT = 32,  /* with CONSTANT: each bit of the result depends only on this bit */
	NO_USE = 64,	   /* memory operands are not reported */
	MOVES = 128,	   /* the first operand becomes the second */
	ZERO_EXTENDS = 256 /* the first operand becomes the second, with zeroes */
};

struct form {
	unsigned id;
	unsigned flags;
	uint16_t changes; /* bits of the registers that change without being operands */
};

#define STRING (BIT(RAX) | BIT(RCX) | BIT(RSI) | BIT(RDI))

/* All other instructions change all registers. They are rare in functions that use pointers. */
static const struct form forms[] = {
	{X86_INS_MOV, WRITES | CONSTANT | MOVES, 0},
	{X86_INS_MOVABS, WRITES | CONSTANT | MOVES, 0},
	{X86_INS_MOVZX, WRITES | ZERO_EXTENDS, 0},
	{X86_INS_MOVSX, WRITES, 0},
	{X86_INS_MOVSXD, WRITES, 0},
	{X86_INS_MOVNTI, WRITES, 0},
	{X86_INS_MOVBE, WRITES, 0},
	{X86_INS_LEA, WRITES | NO_USE, 0},
	{X86_INS_ADD, READS | WRITES | CONSTANT, 0},
	{X86_INS_SUB, READS | WRITES | CONSTANT, 0},
	{X86_INS_AND, READS | WRITES | CONSTANT | INDEPENDENT, 0},
	{X86_INS_OR, READS | WRITES | CONSTANT, 0},
	{X86_INS_XOR, READS | WRITES | CONSTANT, 0},
	{X86_INS_ADC, READS | WRITES, 0},
	{X86_INS_SBB, READS | WRITES, 0},
	{X86_INS_INC, READS | WRITES, 0},
	{X86_INS_DEC, READS | WRITES, 0},
	{X86_INS_NEG, READS | WRITES, 0},
	{X86_INS_NOT, READS | WRITES, 0},
	{X86_INS_SHL, READS | WRITES, 0},
	{X86_INS_SAL, READS | WRITES, 0},
	{X86_INS_SHR, READS | WRITES, 0},
	{X86_INS_SAR, READS | WRITES, 0},
	{X86_INS_ROL, READS | WRITES, 0},
	{X86_INS_ROR, READS | WRITES, 0},
	{X86_INS_RCL, READS | WRITES, 0},
	{X86_INS_RCR, READS | WRITES, 0},
	{X86_INS_SHLD, READS | WRITES, 0},
	{X86_INS_SHRD, READS | WRITES, 0},
	{X86_INS_BSWAP, READS | WRITES, 0},
	{X86_INS_BTS, READS | WRITES | BIT_NUMBER, 0},
	{X86_INS_BTR, READS | WRITES | BIT_NUMBER, 0},
	{X86_INS_BTC, READS | WRITES | BIT_NUMBER, 0},
	{X86_INS_BT, READS | BIT_NUMBER, 0},
	{X86_INS_TEST, READS | CONSTANT | INDEPENDENT, 0},
	{X86_INS_CMP, READS | CONSTANT, 0},
	{X86_INS_XCHG, READS | WRITES_BOTH, 0},
	{X86_INS_XADD, READS | WRITES_BOTH, 0},
	{X86_INS_CMPXCHG, READS | WRITES, BIT(RAX)},
	{X86_INS_CMPXCHG8B, READS | WRITES, BIT(RAX) | BIT(RDX)},
	{X86_INS_CMPXCHG16B, READS | WRITES, BIT(RAX) | BIT(RDX)},
	{X86_INS_MUL, READS, BIT(RAX) | BIT(RDX)},
	{X86_INS_DIV, READS, BIT(RAX) | BIT(RDX)},
	{X86_INS_IDIV, READS, BIT(RAX) | BIT(RDX)},
	{X86_INS_IMUL, WRITES, BIT(RAX) | BIT(RDX)},
	{X86_INS_BSF, WRITES, 0},
	{X86_INS_BSR, WRITES, 0},
	{X86_INS_TZCNT, WRITES, 0},
	{X86_INS_LZCNT, WRITES, 0},
	{X86_INS_POPCNT, WRITES, 0},
	{X86_INS_CMOVA, WRITES, 0},
	{X86_INS_CMOVAE, WRITES, 0},
	{X86_INS_CMOVB, WRITES, 0},
	{X86_INS_CMOVBE, WRITES, 0},
	{X86_INS_CMOVE, WRITES, 0},
	{X86_INS_CMOVG, WRITES, 0},
	{X86_INS_CMOVGE, WRITES, 0},
	{X86_INS_CMOVL, WRITES, 0},
	{X86_INS_CMOVLE, WRITES, 0},
	{X86_INS_CMOVNE, WRITES, 0},
	{X86_INS_CMOVNO, WRITES, 0},
	{X86_INS_CMOVNP, WRITES, 0},
	{X86_INS_CMOVNS, WRITES, 0},
	{X86_INS_CMOVO, WRITES, 0},
	{X86_INS_CMOVP, WRITES, 0},
	{X86_INS_CMOVS, WRITES, 0},
	{X86_INS_SETA, WRITES, 0},
	{X86_INS_SETAE, WRITES, 0},
	{X86_INS_SETB, WRITES, 0},
	{X86_INS_SETBE, WRITES, 0},
	{X86_INS_SETE, WRITES, 0},
	{X86_INS_SETG, WRITES, 0},
	{X86_INS_SETGE, WRITES, 0},
	{X86_INS_SETL, WRITES, 0},
	{X86_INS_SETLE, WRITES, 0},
	{X86_INS_SETNE, WRITES, 0},
	{X86_INS_SETNO, WRITES, 0},
	{X86_INS_SETNP, WRITES, 0},
	{X86_INS_SETNS, WRITES, 0},
	{X86_INS_SETO, WRITES, 0},
	{X86_INS_SETP, WRITES, 0},
	{X86_INS_SETS, WRITES, 0},
	{X86_INS_PUSH, READS, BIT(RSP)},
	{X86_INS_POP, WRITES, BIT(RSP)},
	{X86_INS_PUSHF, NO_USE, BIT(RSP)},
	{X86_INS_PUSHFQ, NO_USE, BIT(RSP)},
	{X86_INS_POPF, NO_USE, BIT(RSP)},
	{X86_INS_POPFQ, NO_USE, BIT(RSP)},
	{X86_INS_LEAVE, NO_USE, BIT(RSP) | BIT(RBP)},
	{X86_INS_CBW, NO_USE, BIT(RAX)},
	{X86_INS_CWDE, NO_USE, BIT(RAX)},
	{X86_INS_CDQE, NO_USE, BIT(RAX)},
	{X86_INS_CWD, NO_USE, BIT(RDX)},
	{X86_INS_CDQ, NO_USE, BIT(RDX)},
	{X86_INS_CQO, NO_USE, BIT(RDX)},
	{X86_INS_RDTSC, NO_USE, BIT(RAX) | BIT(RDX)},
	{X86_INS_RDTSCP, NO_USE, BIT(RAX) | BIT(RDX) | BIT(RCX)},
	{X86_INS_RDMSR, NO_USE, BIT(RAX) | BIT(RDX)},
	{X86_INS_CPUID, NO_USE, BIT(RAX) | BIT(RBX) | BIT(RCX) | BIT(RDX)},
	/* The number of bytes they use depends on a register. */
	{X86_INS_MOVSB, NO_USE, STRING},
	{X86_INS_MOVSW, NO_USE, STRING},
	{X86_INS_MOVSD, NO_USE, STRING},
	{X86_INS_MOVSQ, NO_USE, STRING},
	{X86_INS_STOSB, NO_USE, STRING},
	{X86_INS_STOSW, NO_USE, STRING},
	{X86_INS_STOSD, NO_USE, STRING},
	{X86_INS_STOSQ, NO_USE, STRING},
	{X86_INS_LODSB, NO_USE, STRING},
	{X86_INS_LODSW, NO_USE, STRING},
	{X86_INS_LODSD, NO_USE, STRING},
	{X86_INS_LODSQ, NO_USE, STRING},
	{X86_INS_SCASB, NO_USE, STRING},
	{X86_INS_SCASW, NO_USE, STRING},
	{X86_INS_SCASD, NO_USE, STRING},
	{X86_INS_SCASQ, NO_USE, STRING},
	{X86_INS_CMPSB, NO_USE, STRING},
	{X86_INS_CMPSW, NO_USE, STRING},
	{X86_INS_CMPSD, NO_USE, STRING},
	{X86_INS_CMPSQ, NO_USE, STRING},
	{X86_INS_NOP, NO_USE, 0},
	{X86_INS_PAUSE, NO_USE, 0},
	{X86_INS_HLT, NO_USE, 0},
	{X86_INS_CLI, NO_USE, 0},
	{X86_INS_STI, NO_USE, 0},
	{X86_INS_CLD, NO_USE, 0},
	{X86_INS_STD, NO_USE, 0},
	{X86_INS_CLC, NO_USE, 0},
	{X86_INS_STC, NO_USE, 0},
	{X86_INS_CMC, NO_USE, 0},
	{X86_INS_STAC, NO_USE, 0},
	{X86_INS_CLAC, NO_USE, 0},
	{X86_INS_LFENCE, NO_USE, 0},
	{X86_INS_MFENCE, NO_USE, 0},
	{X86_INS_SFENCE, NO_USE, 0},
	{X86_INS_PREFETCHW, NO_USE, 0},
	{X86_INS_PREFETCHNTA, NO_USE, 0},
	{X86_INS_PREFETCHT0, NO_USE, 0},
	{X86_INS_PREFETCHT1, NO_USE, 0},
	{X86_INS_PREFETCHT2, NO_USE, 0},
	{X86_INS_CLFLUSH, NO_USE, 0},
	{X86_INS_CLFLUSHOPT, NO_USE, 0},
	{X86_INS_CLWB, NO_USE, 0},
	{X86_INS_INVLPG, NO_USE, 0},
	{X86_INS_INVPCID, NO_USE, 0},
	{X86_INS_WBINVD, NO_USE, 0},
	{X86_INS_CLTS, NO_USE, 0},
	{X86_INS_WRMSR, NO_USE, 0},
	{X86_INS_SWAPGS, NO_USE, 0},
	{X86_INS_VERW, NO_USE, 0},
	{X86_INS_OUT, NO_USE, 0},
};

static struct form form_of(const cs_insn *insn)
{
	/* The form with one operand multiplies it by rax. */
	if (insn->id == X86_INS_IMUL && insn->detail->x86.op_count == 1)
		return (struct form){insn->id, READS, BIT(RAX) | BIT(RDX)};
	for (size_t i = 0; i < HV_ARRAY_LEN(forms); i++)
		if (forms[i].id == insn->id)
			return forms[i];
	return (struct form){insn->id, NO_USE, ALL};
}

/* Rows: register numbers. Columns: the lowest 8, 4, 2 and 1 bytes, and the second byte, whose value
 * is not followed. */
#define NR_PARTS 5
static const x86_reg register_names[NR_REGISTERS][NR_PARTS] = {
	{X86_REG_RAX, X86_REG_EAX, X86_REG_AX, X86_REG_AL, X86_REG_AH},
	{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL, X86_REG_CH},
	{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL, X86_REG_DH},
	{X86_REG_RBX, X86_REG_EBX, X86_REG_BX, X86_REG_BL, X86_REG_BH},
	{X86_REG_RSP, X86_REG_ESP, X86_REG_SP, X86_REG_SPL, X86_REG_INVALID},
	{X86_REG_RBP, X86_REG_EBP, X86_REG_BP, X86_REG_BPL, X86_REG_INVALID},
	{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL, X86_REG_INVALID},
	{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL, X86_REG_INVALID},
	{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B, X86_REG_INVALID},
	{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B, X86_REG_INVALID},
	{X86_REG_R10, X86_REG_R10D, X86_REG_R10W, X86_REG_R10B, X86_REG_INVALID},
	{X86_REG_R11, X86_REG_R11D, X86_REG_R11W, X86_REG_R11B, X86_REG_INVALID},
	{X86_REG_R12, X86_REG_R12D, X86_REG_R12W, X86_REG_R12B, X86_REG_INVALID},
	{X86_REG_R13, X86_REG_R13D, X86_REG_R13W, X86_REG_R13B, X86_REG_INVALID},
	{X86_REG_R14, X86_REG_R14D, X86_REG_R14W, X86_REG_R14B, X86_REG_INVALID},
	{X86_REG_R15, X86_REG_R15D, X86_REG_R15W, X86_REG_R15B, X86_REG_INVALID},
};

/* Returns the number of the register that contains REG, or NO_REGISTER. *RET_LEN is the length of
 * REG, or 0 if REG does not begin at the register's lowest byte. */
static uint8_t number_of(x86_reg reg, uint8_t *ret_len)
{
	static const uint8_t lens[NR_PARTS] = {8, 4, 2, 1, 0};

	*ret_len = 0;
	if (reg == X86_REG_INVALID)
		return NO_REGISTER;
	for (uint8_t i = 0; i < NR_REGISTERS; i++)
		for (unsigned part = 0; part < NR_PARTS; part++)
			if (register_names[i][part] == reg) {
				*ret_len = lens[part];
				return i;
			}
	return NO_REGISTER;
}

static uint8_t operand_register(const cs_x86_op *op, uint8_t *ret_len)
{
	*ret_len = 0;
	return op->type == X86_OP_REG ? number_of(op->reg, ret_len) : NO_REGISTER;
}

/* Returns the location of the memory operand OP, without its use. */
static struct memory place_of(const cs_insn *insn, const cs_x86_op *op)
{
	const x86_op_mem *mem = &op->mem;
	bool is_percpu = mem->segment == X86_REG_GS;
	struct memory place = {.kind = is_percpu ? MEMORY_PERCPU : MEMORY_FLAT,
			       .at = (uint64_t)mem->disp,
			       .len_bytes = op->size};
	uint8_t len;

	if (mem->index != X86_REG_INVALID || mem->segment == X86_REG_FS ||
	    insn->detail->x86.addr_size != 8)
		return (struct memory){.kind = NO_MEMORY};
	if (mem->base == X86_REG_INVALID)
		return place;
	if (mem->base == X86_REG_RIP) {
		place.at += insn->address + insn->size;
		return place;
	}
	place.kind = is_percpu ? NO_MEMORY : MEMORY_REGISTER;
	place.reg = number_of(mem->base, &len);
	if (place.reg == NO_REGISTER)
		place.kind = NO_MEMORY;
	return place;
}

/* Returns the lowest LEN_BYTES of V, at most 8. */
static uint64_t low_bytes(uint64_t v, unsigned len_bytes)
{
	return len_bytes >= 8 ? v : v & ((UINT64_C(1) << 8 * len_bytes) - 1);
}

static void read_mask(const cs_x86 *x86, unsigned flags, struct insn *ret)
{
	const cs_x86_op *first = &x86->operands[0], *second = &x86->operands[1];
	uint64_t value;

	if (x86->op_count != 2 || second->type != X86_OP_IMM || !first->size || first->size > 8 ||
	    !(flags & (CONSTANT | BIT_NUMBER)))
		return;
	value = (uint64_t)second->imm;
	if (flags & BIT_NUMBER)
		value = UINT64_C(1) << (value & (8u * first->size - 1));
	ret->has_mask = true;
	ret->mask = low_bytes(value, first->size);
	ret->may_test_part = flags & (BIT_NUMBER | INDEPENDENT);
	if (flags & READS)
		ret->tested = operand_register(first, &ret->tested_len);
	if (!ret->tested_len)
		ret->tested = NO_REGISTER;
}

static void read_memory(const cs_insn *insn, unsigned flags, struct insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;

	for (unsigned i = 0; i < x86->op_count; i++) {
		if (x86->operands[i].type != X86_OP_MEM)
			continue;
		ret->memory = place_of(insn, &x86->operands[i]);
		ret->memory.is_written = flags & WRITES_BOTH || (flags & WRITES && i == 0);
		/* A bit number in a register can select a bit of other memory. */
		if (flags & NO_USE || !ret->memory.len_bytes ||
		    (flags & BIT_NUMBER && !ret->has_mask))
			ret->memory.kind = NO_MEMORY;
	}
}

/* Additions of constants to 8-byte registers, and lea. */
static void read_sum(const cs_insn *insn, struct insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	struct memory place;
	int64_t distance = 1;

	if (insn->id == X86_INS_LEA && x86->op_count == 2) {
		place = place_of(insn, &x86->operands[1]);
		if (place.kind == MEMORY_REGISTER)
			ret->result = (struct result){RESULT_SUM, ret->result.to, place.reg,
						      (int64_t)place.at};
		return;
	}
	if (insn->id == X86_INS_ADD || insn->id == X86_INS_SUB) {
		if (!ret->has_mask)
			return;
		distance = (int64_t)ret->mask;
	} else if (insn->id != X86_INS_INC && insn->id != X86_INS_DEC) {
		return;
	}
	if (insn->id == X86_INS_SUB || insn->id == X86_INS_DEC)
		distance = -distance;
	ret->result = (struct result){RESULT_SUM, ret->result.to, ret->result.to, distance};
}

static void read_result(const cs_insn *insn, unsigned flags, struct insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	uint8_t len, from_len, from;

	if (!(flags & WRITES) || !x86->op_count)
		return;
	ret->result.to = operand_register(&x86->operands[0], &len);
	if (ret->result.to == NO_REGISTER || !len)
		return;
	if (len == 8)
		read_sum(insn, ret);
	if (x86->op_count != 2 || !(flags & (MOVES | ZERO_EXTENDS)))
		return;
	from = operand_register(&x86->operands[1], &from_len);
	if (flags & MOVES && len == 8 && from_len == 8)
		ret->result = (struct result){RESULT_SUM, ret->result.to, from, 0};
	else if (x86->operands[1].type == X86_OP_MEM)
		ret->result.kind = len >= 4 ? RESULT_LOAD : RESULT_PART;
}

static void read_changes(const cs_insn *insn, const struct form *form, struct insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	unsigned nr = form->flags & WRITES_BOTH ? 2 : form->flags & WRITES ? 1 : 0;
	uint8_t len, reg;

	ret->changes = form->changes;
	for (unsigned i = 0; i < nr && i < x86->op_count; i++) {
		reg = operand_register(&x86->operands[i], &len);
		if (reg != NO_REGISTER)
			ret->changes |= BIT(reg);
	}
}

static bool is_in_group(const cs_insn *insn, uint8_t group)
{
	for (unsigned i = 0; i < insn->detail->groups_count; i++)
		if (insn->detail->groups[i] == group)
			return true;
	return false;
}

/* Returns whether the next instruction never follows, for an instruction that is neither a call nor
 * a jump. */
static bool is_end(const cs_insn *insn)
{
	switch (insn->id) {
	case X86_INS_UD0:
	case X86_INS_UD2:
	case X86_INS_UD2B:
	case X86_INS_INT1:
	case X86_INS_INT3:
	case X86_INS_RETF:
	case X86_INS_RETFQ:
	case X86_INS_SYSEXIT:
	case X86_INS_SYSRET:
	case X86_INS_RSM:
	case X86_INS_XBEGIN:
		return true;
	default:
		return is_in_group(insn, CS_GRP_RET) || is_in_group(insn, CS_GRP_IRET);
	}
}

/* Returns whether INSN is a loop or a jump on rcx, not all of which capstone counts as jumps. */
static bool is_loop(const cs_insn *insn)
{
	return insn->id == X86_INS_LOOP || insn->id == X86_INS_LOOPE ||
	       insn->id == X86_INS_LOOPNE || insn->id == X86_INS_JCXZ ||
	       insn->id == X86_INS_JECXZ || insn->id == X86_INS_JRCXZ;
}

/* Indirect calls and jumps read the pointer to their target like any other memory. */
static void read_flow(const cs_insn *insn, struct insn *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;
	bool is_relative = x86->op_count == 1 && x86->operands[0].type == X86_OP_IMM;

	ret->continues = !is_end(insn);
	if (is_in_group(insn, CS_GRP_CALL) || is_in_group(insn, CS_GRP_JUMP)) {
		read_memory(insn, READS, ret);
		ret->changes = is_in_group(insn, CS_GRP_CALL) ? CALLER_SAVED : 0;
	}
	if (is_loop(insn))
		ret->changes = BIT(RCX);
	if (!is_in_group(insn, CS_GRP_JUMP) && !is_loop(insn))
		return;
	ret->continues = is_relative && insn->id != X86_INS_JMP;
	ret->has_target = is_relative;
	ret->target_address = is_relative ? (uint64_t)x86->operands[0].imm : 0;
}

/* -- decoding ---------------------------------------------------------------------------------- */

struct function {
	uint64_t at;
	unsigned nr;
	/* A register selects the target of a jump from a table. Any instruction may be that
	 * target. */
	bool has_jump_table;
	struct insn insns[INSNS_MAX];
	uint16_t index_at[CODE_MAX_BYTES]; /* by offset; NO_INSN: no instruction begins there */
};

static bool is_table_jump(const cs_insn *insn)
{
	const cs_x86_op *op = &insn->detail->x86.operands[0];

	return insn->id == X86_INS_JMP && insn->detail->x86.op_count == 1 &&
	       op->type == X86_OP_MEM && op->mem.index != X86_REG_INVALID;
}

/* Reads the first instruction of CODE at AT with capstone's buffer INSN. Returns its length, or 0
 * if it is unknown. If only x86_64_insn_length() knows the instruction, it may change all
 * registers. Capstone ignores the operands of ud0 and ud1. */
static size_t decode(csh capstone, cs_insn *insn, struct hv_span code, uint64_t at,
		     struct insn *ret, bool *has_jump_table)
{
	struct hv_span rest = code;
	struct form form;
	uint8_t opcode;
	size_t len = x86_64_idle_length(code);
	bool is_known;

	*ret = (struct insn){.result.to = NO_REGISTER, .tested = NO_REGISTER, .continues = true};
	if (len)
		return len;
	len = x86_64_insn_length(code, &opcode);
	is_known = cs_disasm_iter(capstone, &rest.data, &rest.len_bytes, &at, insn);
	if (!is_known || (len && len != insn->size)) {
		ret->changes = ALL;
		ret->continues = !is_known || !is_end(insn);
		return len;
	}
	/* Processors disagree on 16-bit jumps. */
	if (!len && (is_in_group(insn, CS_GRP_JUMP) || is_in_group(insn, CS_GRP_CALL)))
		return 0;
	form = form_of(insn);
	read_changes(insn, &form, ret);
	read_mask(&insn->detail->x86, form.flags, ret);
	read_memory(insn, form.flags, ret);
	read_result(insn, form.flags, ret);
	read_flow(insn, ret);
	*has_jump_table |= is_table_jump(insn);
	return insn->size;
}

/* Notes that the call of the kernel's function tracer changes no registers. It is the first
 * instruction or follows an endbr64. */
static void find_entry_call(struct function *f, struct hv_span code)
{
	bool has_endbr = hv_span_has(code, 0, 4) && !memcmp(code.data, "\xf3\x0f\x1e\xfa", 4);
	unsigned first = has_endbr ? 1 : 0;

	if (first < f->nr && code.data[f->insns[first].off] == OP_CALL)
		f->insns[first].changes = 0;
}

static void find_targets(struct function *f)
{
	for (unsigned i = 0; i < f->nr; i++) {
		struct insn *insn = &f->insns[i];
		uint64_t off = insn->target_address - f->at;

		insn->target =
			insn->has_target && off < CODE_MAX_BYTES ? f->index_at[off] : NO_INSN;
	}
}

static void read_function(struct function *f, struct hv_span code)
{
	size_t off = 0, len;
	csh capstone;
	cs_insn *insn;

	memset(f->index_at, 0xff, sizeof(f->index_at));
	if (cs_open(CS_ARCH_X86, CS_MODE_64, &capstone) != CS_ERR_OK)
		return;
	cs_option(capstone, CS_OPT_DETAIL, CS_OPT_ON);
	insn = cs_malloc(capstone);
	while (insn && off < code.len_bytes && f->nr < INSNS_MAX) {
		struct insn *next = &f->insns[f->nr];

		len = decode(capstone, insn,
			     (struct hv_span){code.data + off, code.len_bytes - off}, f->at + off,
			     next, &f->has_jump_table);
		if (!len)
			break;
		next->off = (uint16_t)off;
		f->index_at[off] = (uint16_t)f->nr++;
		off += len;
	}
	if (insn)
		cs_free(insn, 1);
	cs_close(&capstone);
	find_entry_call(f, code);
	find_targets(f);
}

/* -- values of registers ----------------------------------------------------------------------- */

struct value {
	enum {
		UNKNOWN,
		POINTER, /* OFF bytes after the pointer that ROOT and STEPS lead to */
		MEMBER,	 /* the LEN_BYTES that are there, less than 8 */
	} kind;
	unsigned from; /* HV_ROOT_... */
	uint64_t root;
	unsigned nr_steps;
	uint32_t steps[HV_MEMBER_STEPS_MAX];
	int64_t off;
	unsigned len_bytes;
	bool is_part; /* the remaining bytes of the register are not 0 */
};

struct registers {
	struct value r[NR_REGISTERS];
};

static bool is_equal(const struct value *a, const struct value *b)
{
	return a->kind == b->kind && a->from == b->from && a->root == b->root &&
	       a->nr_steps == b->nr_steps && !memcmp(a->steps, b->steps, sizeof(a->steps)) &&
	       a->off == b->off && a->len_bytes == b->len_bytes && a->is_part == b->is_part;
}

/* Returns the value of V plus DISTANCE. Offsets too large for a structure are unknown. */
static struct value moved(struct value v, int64_t distance)
{
	if (v.kind != POINTER)
		return distance ? (struct value){0} : v;
	if (distance < INT32_MIN || distance > INT32_MAX)
		return (struct value){0};
	v.off += distance;
	return v.off >= INT32_MIN && v.off <= INT32_MAX ? v : (struct value){0};
}

/* Returns the pointer that is read from the member at V. */
static struct value followed(struct value v)
{
	if (v.off < 0 || v.nr_steps == HV_MEMBER_STEPS_MAX)
		return (struct value){0};
	v.steps[v.nr_steps++] = (uint32_t)v.off;
	v.off = 0;
	return v;
}

/* Returns the value of INSN's memory operand. */
static struct value loaded(const struct insn *insn, const struct registers *before)
{
	const struct memory *m = &insn->memory;
	struct value v;

	if (m->kind == MEMORY_FLAT && m->len_bytes == 8)
		return (struct value){.kind = POINTER, .from = HV_ROOT_VARIABLE, .root = m->at};
	if (m->kind == MEMORY_PERCPU && m->len_bytes == 8)
		return (struct value){.kind = POINTER, .from = HV_ROOT_PERCPU, .root = m->at};
	if (m->kind != MEMORY_REGISTER)
		return (struct value){0};
	v = moved(before->r[m->reg], (int64_t)m->at);
	if (v.kind != POINTER)
		return (struct value){0};
	if (m->len_bytes == 8)
		return followed(v);
	v.kind = MEMBER;
	v.len_bytes = m->len_bytes;
	v.is_part = insn->result.kind == RESULT_PART;
	return v;
}

static struct value result_of(const struct insn *insn, const struct registers *before)
{
	switch (insn->result.kind) {
	case RESULT_SUM:
		return moved(before->r[insn->result.from], insn->result.distance);
	case RESULT_LOAD:
	case RESULT_PART:
		return loaded(insn, before);
	default:
		return (struct value){0};
	}
}

static void execute(const struct insn *insn, struct registers *registers)
{
	struct value result = result_of(insn, registers);

	for (unsigned i = 0; i < NR_REGISTERS; i++)
		if (insn->changes & BIT(i))
			registers->r[i] = (struct value){0};
	if (insn->result.to != NO_REGISTER)
		registers->r[insn->result.to] = result;
}

/* -- paths ------------------------------------------------------------------------------------- */

/* The values before each instruction, and the instructions whose values changed since they were
 * last executed. */
struct flow {
	struct function function;
	struct registers *before; /* of each instruction of the function */
	bool is_reached[INSNS_MAX];
	bool is_pending[INSNS_MAX];
	uint16_t pending[INSNS_MAX];
	unsigned nr_pending;
};

static void add_pending(struct flow *f, unsigned index)
{
	if (f->is_pending[index])
		return;
	f->is_pending[index] = true;
	f->pending[f->nr_pending++] = (uint16_t)index;
}

/* Merges REGISTERS into the values before an instruction, for a path that reaches it. */
static void reach(struct flow *f, unsigned index, const struct registers *registers)
{
	struct registers *before;

	if (index >= f->function.nr)
		return;
	before = &f->before[index];
	if (!f->is_reached[index]) {
		f->is_reached[index] = true;
		*before = *registers;
		add_pending(f, index);
		return;
	}
	for (unsigned i = 0; i < NR_REGISTERS; i++) {
		if (before->r[i].kind == UNKNOWN || is_equal(&before->r[i], &registers->r[i]))
			continue;
		before->r[i] = (struct value){0};
		add_pending(f, index);
	}
}

static void follow(struct flow *f)
{
	struct registers registers = {0};

	for (unsigned i = 0; i < HV_ARRAY_LEN(arguments); i++)
		registers.r[arguments[i]] =
			(struct value){.kind = POINTER, .from = HV_ROOT_ARGUMENT, .root = i};
	reach(f, 0, &registers);
	while (f->nr_pending) {
		unsigned index = f->pending[--f->nr_pending];
		const struct insn *insn = &f->function.insns[index];

		f->is_pending[index] = false;
		registers = f->before[index];
		execute(insn, &registers);
		if (insn->continues)
			reach(f, index + 1, &registers);
		reach(f, insn->target, &registers);
	}
}

/* -- uses -------------------------------------------------------------------------------------- */

/* Stores the use of the member at V, without its kind. Returns false if V is unknown or before the
 * structure. */
static bool use_of(const struct value *v, struct hv_member_use *ret)
{
	if (v->kind == UNKNOWN || v->off < 0)
		return false;
	*ret = (struct hv_member_use){
		.from = v->from, .root = v->root, .nr_steps = v->nr_steps, .off = (uint32_t)v->off};
	memcpy(ret->steps, v->steps, sizeof(ret->steps));
	return true;
}

static bool memory_use(const struct insn *insn, const struct registers *before,
		       struct hv_member_use *ret)
{
	struct value v;

	if (insn->memory.kind != MEMORY_REGISTER)
		return false;
	v = moved(before->r[insn->memory.reg], (int64_t)insn->memory.at);
	if (v.kind != POINTER || !use_of(&v, ret))
		return false;
	ret->kind = insn->memory.is_written ? HV_MEMBER_WRITE : HV_MEMBER_READ;
	ret->len_bytes = insn->memory.len_bytes;
	ret->has_mask = insn->has_mask;
	ret->mask = insn->mask;
	return true;
}

static bool address_use(const struct insn *insn, const struct registers *before,
			struct hv_member_use *ret)
{
	struct value v;

	if (insn->result.kind != RESULT_SUM || !insn->result.distance)
		return false;
	v = moved(before->r[insn->result.from], insn->result.distance);
	return v.kind == POINTER && use_of(&v, ret);
}

/* Stores the use that read V. Returns false if V is not the value of a member. A pointer that was
 * read from a member is the value of that member. */
static bool use_that_read(const struct value *v, struct hv_member_use *ret)
{
	struct value member = *v;

	if (v->kind == POINTER && !v->off && v->nr_steps) {
		member.off = member.steps[--member.nr_steps];
		member.steps[member.nr_steps] = 0;
		member.len_bytes = 8;
	} else if (v->kind != MEMBER) {
		return false;
	}
	if (!use_of(&member, ret))
		return false;
	ret->kind = HV_MEMBER_READ;
	ret->len_bytes = member.len_bytes;
	return true;
}

/* An instruction with a constant and a register whose value was read from a member. */
static bool test_use(const struct insn *insn, const struct registers *before,
		     struct hv_member_use *ret)
{
	const struct value *v;

	if (!insn->has_mask || insn->tested == NO_REGISTER || insn->result.kind == RESULT_SUM)
		return false;
	v = &before->r[insn->tested];
	if (!use_that_read(v, ret))
		return false;
	if ((insn->tested_len < ret->len_bytes && !insn->may_test_part) ||
	    (insn->tested_len > ret->len_bytes && v->is_part) ||
	    insn->mask != low_bytes(insn->mask, ret->len_bytes))
		return false;
	ret->has_mask = true;
	ret->mask = insn->mask;
	return true;
}

static void report(const struct flow *f, unsigned index, hv_member_use_fn fn, void *ctx)
{
	const struct insn *insn = &f->function.insns[index];
	const struct registers *before = &f->before[index];
	struct hv_member_use use;

	if (!memory_use(insn, before, &use) && !address_use(insn, before, &use) &&
	    !test_use(insn, before, &use))
		return;
	use.insn = hv_gva(f->function.at + insn->off);
	fn(ctx, &use);
}

void x86_64_follow_members(struct hv_span code, struct hv_gva at, hv_member_use_fn fn, void *ctx)
{
	struct flow *f HV_AUTO_FREE = hv_alloc(sizeof(*f));
	struct registers *before HV_AUTO_FREE = NULL;

	if (code.len_bytes > CODE_MAX_BYTES)
		code.len_bytes = CODE_MAX_BYTES;
	f->function.at = at.v;
	read_function(&f->function, code);
	if (f->function.has_jump_table || !f->function.nr)
		return;
	before = hv_alloc(f->function.nr * sizeof(*before));
	f->before = before;
	follow(f);
	/* At instructions that no path reaches, nothing is known. */
	for (unsigned i = 0; i < f->function.nr; i++)
		report(f, i, fn, ctx);
}

static bool distance_use(const struct insn *insn, struct hv_member_use *ret)
{
	const struct memory *m = &insn->memory;

	*ret = (struct hv_member_use){.from = HV_ROOT_UNKNOWN, .kind = HV_MEMBER_ADDRESS};
	if ((m->kind == MEMORY_REGISTER && m->reg != RSP) || m->kind == MEMORY_FLAT) {
		if (m->kind == MEMORY_FLAT) {
			ret->from = HV_ROOT_ADDRESS;
			ret->root = m->at;
		} else {
			ret->off = (uint32_t)m->at;
		}
		ret->kind = m->is_written ? HV_MEMBER_WRITE : HV_MEMBER_READ;
		ret->len_bytes = m->len_bytes;
		ret->has_mask = insn->has_mask;
		ret->mask = insn->mask;
		return true;
	}
	ret->off = (uint32_t)insn->result.distance;
	return insn->result.kind == RESULT_SUM && insn->result.distance && insn->result.from != RSP;
}

void x86_64_list_uses(struct hv_span code, struct hv_gva at, hv_member_use_fn fn, void *ctx)
{
	struct function *f HV_AUTO_FREE = hv_alloc(sizeof(*f));
	struct hv_member_use use;

	if (code.len_bytes > CODE_MAX_BYTES)
		code.len_bytes = CODE_MAX_BYTES;
	f->at = at.v;
	read_function(f, code);
	for (unsigned i = 0; i < f->nr; i++) {
		if (!distance_use(&f->insns[i], &use))
			continue;
		use.insn = hv_gva(at.v + f->insns[i].off);
		fn(ctx, &use);
	}
}
