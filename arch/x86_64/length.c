/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the length of an instruction with the architecture manual's opcode maps, and decodes
 * nothing else. This is a hundred times faster than capstone. It is used to find the few functions
 * that capstone must examine. Returns 0 for unsupported instructions, such as VEX and those that
 * compilers never emit. */
#include "arch/x86_64/x86_64.h"

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
