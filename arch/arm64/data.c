/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which variables a function uses. Their addresses are made by `adrp` with `add` or with a distance
 * in a load or store, and often one is made from another. Registers are followed from instruction
 * to instruction. Where ways meet, what all of them leave in a register is known; at the start of a
 * loop nothing is. Of what an instruction may change nothing is known behind it. So each use that
 * is told is one. Source of encodings: Arm Architecture Reference Manual (DDI 0487), C4.1. */
#include "arch/arm64/arm64.h"

#include <string.h>

#define CODE_MAX_BYTES 4096u
#define INSNS_MAX      (CODE_MAX_BYTES / ARM64_INSN_LEN)
#define NR_REGISTERS   32 /* number 31 is sp or zero, and never known */
#define NO_REGISTER    31
#define LINK	       30
#define NR_CLOBBERED   19 /* by calls: x0 to x18 */
#define NR_ARGUMENTS   8
#define JUMPS_MAX      32 /* that have not arrived yet */

struct value {
	enum { UNKNOWN, ADDRESS, READ } kind;
	uint64_t v; /* the address, or that of the 8 bytes that were read */
};

/* A jump forward, with what is known of registers where it jumps. */
struct jump {
	unsigned to; /* the number of an instruction */
	struct value registers[NR_REGISTERS];
};

struct follower {
	hv_data_use_fn fn;
	void *ctx;
	struct value registers[NR_REGISTERS];
	bool is_dead; /* the instruction before never goes on to this one */
	struct jump jumps[JUMPS_MAX];
	unsigned nr_jumps;
};

static unsigned field(uint32_t insn, unsigned shift)
{
	return insn >> shift & 31;
}

/* The signed field of BITS bits from SHIFT on. */
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

static void tell_address(struct follower *f, unsigned reg, uint64_t address)
{
	set(f, reg, (struct value){ADDRESS, address});
	tell(f, (struct hv_data_use){.at = hv_gva(address), .kind = HV_DATA_ADDRESS});
}

/* Data processing with an immediate: adr, adrp, add of 64 bits; all others change one register. */
static void follow_immediate(struct follower *f, uint32_t insn, uint64_t at)
{
	unsigned to = field(insn, 0);
	struct value from = f->registers[field(insn, 5)];
	uint64_t distance = (uint64_t)signed_field(insn, 5, 19) << 2 | (insn >> 29 & 3);

	if ((insn & 0x9f000000) == 0x90000000)
		set(f, to, (struct value){ADDRESS, (at & ~UINT64_C(4095)) + (distance << 12)});
	else if ((insn & 0x9f000000) == 0x10000000)
		tell_address(f, to, at + distance);
	else if ((insn & 0xff800000) == 0x91000000 && from.kind == ADDRESS)
		tell_address(f, to,
			     from.v +
				     ((uint64_t)(insn >> 10 & 0xfff) << (insn >> 22 & 1 ? 12 : 0)));
	else
		forget(f, to);
}

/* A load or store of one general register. OPC: 0 stores, 1 loads, others load with a sign. */
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

/* Of all forms that are not followed, the fields of registers count as changed, also those of which
 * casp changes the next one, too. */
static void forget_fields(struct follower *f, uint32_t insn)
{
	static const unsigned fields[] = {0, 5, 10, 16};

	for (unsigned i = 0; i < HV_ARRAY_LEN(fields); i++) {
		forget(f, field(insn, fields[i]));
		forget(f, (field(insn, fields[i]) + 1) % NR_REGISTERS);
	}
}

/* ldr and str with a distance: in the place of a register's address, or before or after which the
 * address in the register is changed. */
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

/* ldp and stp with a distance that leave their base as it is. */
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

/* Branches, exceptions and system instructions. Behind what does not go on to the next instruction
 * nothing is known but what jumps bring there. The brk of a WARN counts as such although it goes
 * on, so what is told behind it is true of the jumps only. */
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

/* Where the instruction jumps to, in instructions from itself; 0: it does not jump, or calls. */
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

/* Notes which of the NR instructions are jumped to from behind, or may be. False: the function has
 * a jump to an address in a register, by which any can be. */
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

/* Keeps what is known where INSN, number AT, jumps forward. A jump that there is no room for makes
 * its target one of which nothing is known. */
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

/* Takes the jumps to instruction AT, which have arrived. */
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
