/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Encodings of the instructions that detour_insn.c finds and detour.c replaces. */
#pragma once

#include <string.h>

#include "arch/x86_64/x86_64.h"

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
