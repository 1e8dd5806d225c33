/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of print_fmt expressions, and C arithmetic on them in the guest's data model (LP64). The
 * rules of promotion, conversion and sign must match those of the kernel's compiler: { (1 << 31),
 * "X" } is a mask with 33 bits set. program.h has expressions. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hv_print_type {
	uint8_t size_bytes; /* size of a number or pointer: 1, 2, 4, 8 */
	bool is_signed;
	bool is_pointer; /* the EL_ members describe the elements that it points to */
	bool el_is_signed;
	bool el_is_number; /* has 1, 2, 4 or 8 bytes and can be read */
	bool el_is_known;  /* EL_BYTES is known */
	uint32_t el_bytes;
};

/* Where a pointer points: a guest address, or an offset in host memory. */
enum hv_print_space {
	HV_SPACE_GUEST,	  /* also numbers */
	HV_SPACE_ENTRY,	  /* bits: an offset in the entry */
	HV_SPACE_STRINGS, /* bits: an offset in the strings of the print_fmt */
	HV_SPACE_SCRATCH, /* bits: offset in the text that helpers such as __print_flags wrote */
};

struct hv_print_value {
	uint64_t bits; /* sign- or zero-extended according to the type */
	struct hv_print_type type;
	enum hv_print_space space;
};

/* Numbers of 1, 2, 4 or 8 bytes. */
struct hv_print_type hv_print_signed(unsigned size_bytes);
struct hv_print_type hv_print_unsigned(unsigned size_bytes);
/* Pointer to elements of EL_BYTES without further type information. */
struct hv_print_type hv_print_pointer_to(uint32_t el_bytes);
struct hv_print_type hv_print_pointer_to_numbers(struct hv_print_type el);
/* Returns the type of the elements of a pointer to numbers. */
struct hv_print_type hv_print_element(struct hv_print_type pointer);

struct hv_print_value hv_print_number_value(uint64_t bits, struct hv_print_type type);

struct hv_print_value hv_print_cast(struct hv_print_value v, struct hv_print_type type);
/* Returns whether the value is true in C: not 0 or NULL. */
bool hv_print_is_true(struct hv_print_value v);
/* The type of "c ? A : B". */
struct hv_print_type hv_print_common_type(struct hv_print_type a, struct hv_print_type b);

/* OP: '-', '~', '!', '+'. Returns false if OP does not apply to A. */
bool hv_print_unary(char op, struct hv_print_value a, struct hv_print_value *ret);
/* OP: a sign of the lexer. Returns false if OP does not apply to the values, or would trap in the
 * kernel. */
bool hv_print_binary(uint16_t op, struct hv_print_value a, struct hv_print_value b,
		     struct hv_print_value *ret);
