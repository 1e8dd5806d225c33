/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long an instruction is, by the opcode maps of the architecture's manual, and nothing else of
 * it. This takes a hundredth of what capstone takes. It is for finding the few functions that are
 * worth a look by capstone. What it does not know, as VEX and what no compiler makes, it says so.
 */
#include "arch/x86_64/x86_64.h"

#define INSN_MAX 15

#define REX_W	   0x08
#define MODRM_REG  0x38
#define TWO_BYTES  0x0f
#define OPERAND_16 0x66
#define ADDRESS_32 0x67

/* What follows an opcode:
 *   n nothing, m ModRM, M ModRM and a byte, Z ModRM and a word of the operand's size,
 *   b a byte, w two bytes, e three bytes, z a word of the operand's size, j four bytes,
 *   v likewise of eight bytes with REX.W, q an address,
 *   f ModRM, and a byte if the field for the register is 0 or 1, F likewise with such a word,
 *   p it is a prefix, x it is REX, ? not known. */
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

/* The same behind 0x0f. 3 and A: there is another byte, then ModRM, with A also a byte. */
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

/* REX is the last prefix, or has no effect, which compilers do not make. */
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

/* Returns the field for the register. */
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
	/* Processors do not agree on jumps of 16 bits. */
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
