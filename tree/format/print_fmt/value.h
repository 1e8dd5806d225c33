/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values of a print_fmt's expressions and C's arithmetic on them, for the guest's data model
 * (LP64). The kernel's compiler applied the rules of promotion, conversion and sign to these
 * expressions, so the same rules must apply here: { (1 << 31), "X" } is a mask with 33 bits set.
 * Leaves to others: expressions (program.h), what a pointer points at. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hv_print_type {
	uint8_t size_bytes; /* size of a number or pointer: 1, 2, 4, 8 */
	bool is_signed;
	bool is_pointer; /* to elements: */
	bool el_is_signed;
	bool el_is_number; /* of 1, 2, 4 or 8 bytes, which can be read */
	bool el_is_known;  /* EL_BYTES is known */
	uint32_t el_bytes;
};

/* Where a pointer points: to an address of the guest, or to memory of ours. */
enum hv_print_space {
	HV_SPACE_GUEST,	  /* numbers, too */
	HV_SPACE_ENTRY,	  /* bits: an offset in the entry */
	HV_SPACE_STRINGS, /* bits: an offset in the strings of the print_fmt */
	HV_SPACE_SCRATCH, /* bits: an offset in the text that helpers as __print_flags have written
			   */
};

struct hv_print_value {
	uint64_t bits; /* sign- or zero-extended, as the type says */
	struct hv_print_type type;
	enum hv_print_space space;
};

/* Numbers of 1, 2, 4 or 8 bytes. */
struct hv_print_type hv_print_signed(unsigned size_bytes);
struct hv_print_type hv_print_unsigned(unsigned size_bytes);
/* To elements of EL_BYTES, about which nothing else is known. */
struct hv_print_type hv_print_pointer_to(uint32_t el_bytes);
struct hv_print_type hv_print_pointer_to_numbers(struct hv_print_type el);
/* What a pointer to numbers points to. */
struct hv_print_type hv_print_element(struct hv_print_type pointer);

struct hv_print_value hv_print_number_value(uint64_t bits, struct hv_print_type type);

struct hv_print_value hv_print_cast(struct hv_print_value v, struct hv_print_type type);
/* Whether C takes the value as true: it is not 0 or NULL. */
bool hv_print_is_true(struct hv_print_value v);
/* The type of "c ? A : B". */
struct hv_print_type hv_print_common_type(struct hv_print_type a, struct hv_print_type b);

/* OP: '-', '~', '!', '+'. False: it cannot be applied to this value. */
bool hv_print_unary(char op, struct hv_print_value a, struct hv_print_value *ret);
/* OP: a sign of the lexer. False: it cannot be applied to these values, or would trap in the
 * kernel. */
bool hv_print_binary(uint16_t op, struct hv_print_value a, struct hv_print_value b,
		     struct hv_print_value *ret);
