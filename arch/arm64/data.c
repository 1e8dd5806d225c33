/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How code accesses data: which variables a function uses, and the register with the per-CPU
 * offset. */
#include "arch/arm64/arm64.h"

#include <string.h>

/* -- variables --------------------------------------------------------------------------------- */

/* Finds the variables that a function uses. Code computes their addresses with `adrp` and `add`,
 * with `adrp` and an offset in a load or store, or from another variable's address.
 *
 * The values of registers are followed from instruction to instruction. If several paths reach an
 * instruction, only values that are equal on all of them are known; at the start of a loop none
 * are. Registers that an instruction may change become unknown. So each reported use is real.
 * Source of encodings: Arm Architecture Reference Manual (DDI 0487), C4.1. */

#define CODE_MAX_BYTES 4096u
#define INSNS_MAX      (CODE_MAX_BYTES / ARM64_INSN_LEN)
#define NR_REGISTERS   32 /* register 31 is sp or zero, and never known */
#define NO_REGISTER    31
#define LINK	       30
#define NR_CLOBBERED   19 /* by calls: x0 to x18 */
#define NR_ARGUMENTS   8
#define JUMPS_MAX      32 /* pending jumps */

struct value {
	enum { UNKNOWN, ADDRESS, READ } kind;
	uint64_t v; /* the address, or the address of the 8 bytes that were read */
};

/* A forward jump, with the known registers at the jump. */
struct jump {
	unsigned to; /* index of an instruction */
	struct value registers[NR_REGISTERS];
};

struct follower {
	hv_data_use_fn fn;
	void *ctx;
	struct value registers[NR_REGISTERS];
	bool is_dead; /* execution never continues from the previous instruction */
	struct jump jumps[JUMPS_MAX];
	unsigned nr_jumps;
};

static unsigned field(uint32_t insn, unsigned shift)
{
	return insn >> shift & 31;
}

/* Returns the signed field of BITS bits at SHIFT. */
static int64_t signed_field(uint32_t insn, unsigned shift, unsigned bits)
{
	return (int32_t)(insn << (32 - shift - bits)) >> (32 - bits);
}

static void forget_all(struct follower *f)
{
	for (unsigned i = 0; i < NR_REGISTERS; i++)
		f->registers[i].kind = UNKNOWN;
}

static void set(struct follower *f, unsigned reg, struct value value)
{
	if (reg != NO_REGISTER)
		f->registers[reg] = value;
}

static void forget(struct follower *f, unsigned reg)
{
	f->registers[reg].kind = UNKNOWN;
}

static void tell(const struct follower *f, struct hv_data_use use)
{
	f->fn(f->ctx, &use);
}

static void report_address(struct follower *f, unsigned reg, uint64_t address)
{
	set(f, reg, (struct value){ADDRESS, address});
	tell(f, (struct hv_data_use){.at = hv_gva(address), .kind = HV_DATA_ADDRESS});
}

/* Data processing with an immediate: adr, adrp, 64-bit add; others only change their register. */
static void follow_immediate(struct follower *f, uint32_t insn, uint64_t at)
{
	unsigned to = field(insn, 0);
	struct value from = f->registers[field(insn, 5)];
	uint64_t distance = (uint64_t)signed_field(insn, 5, 19) << 2 | (insn >> 29 & 3);

	if ((insn & 0x9f000000) == 0x90000000)
		set(f, to, (struct value){ADDRESS, (at & ~UINT64_C(4095)) + (distance << 12)});
	else if ((insn & 0x9f000000) == 0x10000000)
		report_address(f, to, at + distance);
	else if ((insn & 0xff800000) == 0x91000000 && from.kind == ADDRESS)
		report_address(
			f, to,
			from.v + ((uint64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0)));
	else
		forget(f, to);
}

/* A load or store of one general register. OPC: 0 stores, 1 loads, others load with sign
 * extension. */
static void access_one(struct follower *f, uint32_t insn, uint64_t address)
{
	unsigned to = field(insn, 0), size = insn >> 30, opc = insn >> 22 & 3;

	if (size == 3 && opc > 1) /* prefetches */
		return;
	tell(f, (struct hv_data_use){.at = hv_gva(address),
				     .kind = opc ? HV_DATA_READ : HV_DATA_WRITE,
				     .len_bytes = 1u << size});
	if (size == 3 && opc)
		set(f, to, (struct value){READ, address});
}

/* Forms that are not followed: all register fields count as changed, and the next register, because
 * casp changes register pairs. */
static void forget_fields(struct follower *f, uint32_t insn)
{
	static const unsigned fields[] = {0, 5, 10, 16};

	for (unsigned i = 0; i < HV_ARRAY_LEN(fields); i++) {
		forget(f, field(insn, fields[i]));
		forget(f, (field(insn, fields[i]) + 1) % NR_REGISTERS);
	}
}

/* ldr and str with an offset, also with pre- and post-index. */
static void follow_single(struct follower *f, uint32_t insn)
{
	bool is_scaled = (insn & 0x3f000000) == 0x39000000, is_post = (insn & 0xc00) == 0x400;
	unsigned base = field(insn, 5), to = field(insn, 0);
	struct value from = f->registers[base];
	uint64_t distance = is_scaled ? (uint64_t)(insn >> 10 & 0xfff) << (insn >> 30)
				      : (uint64_t)signed_field(insn, 12, 9);

	if (insn >> 22 & 3)
		forget(f, to);
	if (!is_scaled)
		forget(f, base);
	if (from.kind != ADDRESS)
		return;
	if (!is_scaled && to != base)
		set(f, base, (struct value){ADDRESS, from.v + distance});
	access_one(f, insn, from.v + (is_post && !is_scaled ? 0 : distance));
}

/* ldp and stp with an offset and without write-back. */
static void follow_pair(struct follower *f, uint32_t insn)
{
	struct value from = f->registers[field(insn, 5)];
	bool is_load = insn >> 22 & 1;
	unsigned len = insn >> 31 ? 8 : 4;
	uint64_t distance = (uint64_t)(signed_field(insn, 15, 7) * (int64_t)len);

	if (is_load) {
		forget(f, field(insn, 0));
		forget(f, field(insn, 10));
	}
	for (unsigned i = 0; from.kind == ADDRESS && i < 2; i++)
		tell(f, (struct hv_data_use){.at = hv_gva(from.v + distance + (uint64_t)i * len),
					     .kind = is_load ? HV_DATA_READ : HV_DATA_WRITE,
					     .len_bytes = len});
}

static void follow_memory(struct follower *f, uint32_t insn)
{
	bool indexed = (insn & 0x3f200400) == 0x38000400;

	if ((insn & 0x3f000000) == 0x39000000 || indexed)
		follow_single(f, insn);
	else if ((insn & 0x3f800000) == 0x29000000)
		follow_pair(f, insn);
	else
		forget_fields(f, insn);
}

static void follow_call(struct follower *f)
{
	for (unsigned i = 0; i < NR_CLOBBERED; i++)
		forget(f, i);
	forget(f, LINK);
}

/* Branches, exceptions and system instructions. If execution does not continue at the next
 * instruction, only jumps to that instruction make registers known there. The brk of a WARN is
 * treated like this although execution continues, so only the values from jumps are used after
 * it. */
static void follow_branch(struct follower *f, uint32_t insn, uint64_t at)
{
	uint64_t target = at + ((uint64_t)signed_field(insn, 0, 26) << 2);
	bool is_conditional =
		(insn & 0xff000000) == 0x54000000 || (insn & 0x7c000000) == 0x34000000;

	if ((insn & 0xfc000000) == 0x94000000) {
		for (unsigned i = 0; i < NR_ARGUMENTS; i++)
			if (f->registers[i].kind == READ)
				tell(f, (struct hv_data_use){.at = hv_gva(f->registers[i].v),
							     .kind = HV_DATA_PASS,
							     .len_bytes = 8,
							     .argument = i,
							     .called = hv_gva(target)});
		follow_call(f);
	} else if ((insn & 0xfe000000) == 0xd6000000 && (insn >> 21 & 7) == 1) { /* blr */
		follow_call(f);
	} else if (insn >> 24 == 0xd5) {
		forget(f, field(insn, 0));
		forget(f, LINK);			 /* xpaclri, autiasp, ... */
		if ((insn & 0xfffff01f) == 0xd503201f) { /* pacia1716, ... */
			forget(f, 16);
			forget(f, 17);
		}
	} else if (!is_conditional) {
		forget_all(f);
		f->is_dead = true;
	}
}

static void follow_insn(struct follower *f, uint32_t insn, uint64_t at)
{
	switch (insn >> 25 & 15) {
	case 8:
	case 9:
		follow_immediate(f, insn, at);
		break;
	case 10:
	case 11:
		follow_branch(f, insn, at);
		break;
	case 4:
	case 6:
	case 12:
	case 14:
		follow_memory(f, insn);
		break;
	case 5:
	case 13:
		if ((insn & 0xffe0ffe0) == 0xaa0003e0) /* mov of 64 bits */
			set(f, field(insn, 0), f->registers[field(insn, 16)]);
		else
			forget(f, field(insn, 0));
		break;
	case 7:
	case 15:
		forget(f, field(insn, 0));
		break;
	default:
		forget_all(f);
	}
}

/* Returns the distance to the jump target in instructions, or 0 if INSN is no jump, or a call. */
static int64_t jump_distance(uint32_t insn)
{
	if ((insn & 0xfc000000) == 0x14000000) /* b */
		return signed_field(insn, 0, 26);
	if ((insn & 0xff000000) == 0x54000000 || (insn & 0x7e000000) == 0x34000000) /* b.c, cbz */
		return signed_field(insn, 5, 19);
	if ((insn & 0x7e000000) == 0x36000000) /* tbz */
		return signed_field(insn, 5, 14);
	return 0;
}

/* Marks the instructions that are, or may be, targets of backward jumps. Returns false if the
 * function has a jump to an address in a register, which can have any target. */
static bool find_loops(struct hv_span code, unsigned nr, uint8_t *loops)
{
	for (unsigned i = 0; i < nr; i++) {
		uint32_t insn = 0;
		int64_t to;

		hv_span_u32(code, (size_t)i * ARM64_INSN_LEN, &insn);
		if ((insn & 0xfe000000) == 0xd6000000 && (insn >> 21 & 7) == 0) /* br, braa */
			return false;
		to = i + jump_distance(insn);
		if (to >= 0 && to < i)
			loops[to] = 1;
	}
	return true;
}

/* Stores the known registers if INSN, at index AT, jumps forward. If there is no room, its target
 * is treated like a loop start. */
static void note_jump(struct follower *f, uint32_t insn, unsigned at, unsigned nr, uint8_t *loops)
{
	int64_t to = at + jump_distance(insn);
	struct jump *jump = &f->jumps[f->nr_jumps];

	if (to <= at || to >= nr)
		return;
	if (f->nr_jumps == JUMPS_MAX) {
		loops[to] = 1;
		return;
	}
	f->nr_jumps++;
	jump->to = (unsigned)to;
	memcpy(jump->registers, f->registers, sizeof(jump->registers));
}

static void merge(struct follower *f, const struct value *other)
{
	for (unsigned i = 0; i < NR_REGISTERS; i++)
		if (f->registers[i].kind != other[i].kind || f->registers[i].v != other[i].v)
			forget(f, i);
}

/* Merges the registers of all jumps to instruction AT. */
static void arrive(struct follower *f, unsigned at)
{
	for (unsigned i = 0; i < f->nr_jumps;) {
		if (f->jumps[i].to != at) {
			i++;
			continue;
		}
		if (f->is_dead)
			memcpy(f->registers, f->jumps[i].registers, sizeof(f->registers));
		else
			merge(f, f->jumps[i].registers);
		f->is_dead = false;
		f->jumps[i] = f->jumps[--f->nr_jumps];
	}
}

void arm64_follow_data(struct hv_span code, struct hv_gva at, hv_data_use_fn fn, void *ctx)
{
	struct follower f = {.fn = fn, .ctx = ctx};
	uint8_t loops[INSNS_MAX] = {0};
	unsigned nr;

	if (code.len_bytes > CODE_MAX_BYTES)
		code.len_bytes = CODE_MAX_BYTES;
	nr = (unsigned)(code.len_bytes / ARM64_INSN_LEN);
	if (!find_loops(code, nr, loops))
		return;
	for (unsigned i = 0; i < nr; i++) {
		uint32_t insn = 0;

		hv_span_u32(code, (size_t)i * ARM64_INSN_LEN, &insn);
		arrive(&f, i);
		if (loops[i])
			forget_all(&f);
		note_jump(&f, insn, i, nr, loops);
		f.is_dead = false;
		follow_insn(&f, insn, at.v + (uint64_t)i * ARM64_INSN_LEN);
	}
}

/* -- the per-CPU offset ------------------------------------------------------------------------ */

/* Finds the register with a CPU's per-CPU offset. A kernel that boots in EL2 replaces the
 * instructions that read tpidr_el1 with ones that read tpidr_el2 (arch/arm64/include/asm/percpu.h,
 * assembler.h). */

#define REGISTER      0x1fu
#define MRS_TPIDR_EL1 0xd538d080u
#define MRS_TPIDR_EL2 0xd53cd040u

/* All such instructions of a kernel read the same register. */
bool arm64_classify_percpu(struct hv_span code, bool *ret_is_hypervisor)
{
	bool el1 = false, el2 = false;
	uint32_t insn;

	for (uint64_t off = 0; hv_span_u32(code, off, &insn); off += ARM64_INSN_LEN) {
		el1 |= (insn & ~REGISTER) == MRS_TPIDR_EL1;
		el2 |= (insn & ~REGISTER) == MRS_TPIDR_EL2;
	}
	*ret_is_hypervisor = el2;
	return el1 != el2;
}
