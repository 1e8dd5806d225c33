/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/value.h"

#include "tree/format/print_fmt/lexer.h"

#define POINTER_BYTES 8

struct hv_print_type hv_print_signed(unsigned size_bytes)
{
	return (struct hv_print_type){.size_bytes = (uint8_t)size_bytes, .is_signed = true};
}

struct hv_print_type hv_print_unsigned(unsigned size_bytes)
{
	return (struct hv_print_type){.size_bytes = (uint8_t)size_bytes};
}

struct hv_print_type hv_print_pointer_to(uint32_t el_bytes)
{
	return (struct hv_print_type){
		.size_bytes = POINTER_BYTES,
		.is_pointer = true,
		.el_is_known = true,
		.el_bytes = el_bytes,
	};
}

struct hv_print_type hv_print_pointer_to_numbers(struct hv_print_type el)
{
	struct hv_print_type type = hv_print_pointer_to(el.size_bytes);

	type.el_is_number = true;
	type.el_is_signed = el.is_signed;
	return type;
}

struct hv_print_type hv_print_element(struct hv_print_type pointer)
{
	return pointer.el_is_signed ? hv_print_signed(pointer.el_bytes)
				    : hv_print_unsigned(pointer.el_bytes);
}

static uint64_t extend(uint64_t bits, struct hv_print_type type)
{
	unsigned unused = 64 - 8 * type.size_bytes;

	if (type.is_signed)
		return (uint64_t)((int64_t)(bits << unused) >> unused);
	return bits << unused >> unused;
}

struct hv_print_value hv_print_number_value(uint64_t bits, struct hv_print_type type)
{
	return (struct hv_print_value){.bits = extend(bits, type), .type = type};
}

struct hv_print_value hv_print_cast(struct hv_print_value v, struct hv_print_type type)
{
	if (v.space != HV_SPACE_GUEST)
		return (struct hv_print_value){.bits = v.bits, .type = type, .space = v.space};
	return hv_print_number_value(v.bits, type);
}

bool hv_print_is_true(struct hv_print_value v)
{
	return v.space != HV_SPACE_GUEST || v.bits;
}

static struct hv_print_type promote(struct hv_print_type type)
{
	return type.size_bytes < 4 ? hv_print_signed(4) : type;
}

struct hv_print_type hv_print_common_type(struct hv_print_type a, struct hv_print_type b)
{
	if (a.is_pointer)
		return a;
	if (b.is_pointer)
		return b;
	a = promote(a);
	b = promote(b);
	if (a.size_bytes != b.size_bytes)
		return a.size_bytes > b.size_bytes ? a : b;
	return a.is_signed ? b : a;
}

static struct hv_print_value truth(bool is_true)
{
	return hv_print_number_value(is_true, hv_print_signed(4));
}

bool hv_print_unary(char op, struct hv_print_value a, struct hv_print_value *ret)
{
	if (op == '!') {
		*ret = truth(!hv_print_is_true(a));
		return true;
	}
	if (a.type.is_pointer || a.space != HV_SPACE_GUEST)
		return false;
	a = hv_print_cast(a, promote(a.type));
	if (op == '-')
		a.bits = -a.bits;
	if (op == '~')
		a.bits = ~a.bits;
	*ret = hv_print_number_value(a.bits, a.type);
	return true;
}

/* Adds a number of elements to a pointer, or subtracts it. */
static bool move(uint16_t op, struct hv_print_value pointer, struct hv_print_value by,
		 struct hv_print_value *ret)
{
	uint64_t distance = by.bits * pointer.type.el_bytes;

	if (!pointer.type.el_is_known || by.space != HV_SPACE_GUEST)
		return false;
	*ret = pointer;
	ret->bits = op == '+' ? pointer.bits + distance : pointer.bits - distance;
	return true;
}

static bool compare(uint16_t op, bool is_signed, uint64_t a, uint64_t b)
{
	bool is_less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (op) {
	case HV_SIGN2('=', '='):
		return a == b;
	case HV_SIGN2('!', '='):
		return a != b;
	case '<':
		return is_less;
	case HV_SIGN2('<', '='):
		return is_less || a == b;
	case '>':
		return !is_less && a != b;
	}
	return !is_less;
}

static bool is_comparison(uint16_t op)
{
	return op == '<' || op == '>' || op == HV_SIGN2('<', '=') || op == HV_SIGN2('>', '=') ||
	       op == HV_SIGN2('=', '=') || op == HV_SIGN2('!', '=');
}

/* For operands of which at least one points into the entry or a host string. The kernel's address
 * is unknown, but not NULL. */
static bool compare_addresses(uint16_t op, struct hv_print_value a, struct hv_print_value b,
			      struct hv_print_value *ret)
{
	if (a.space == b.space) {
		*ret = truth(compare(op, false, a.bits, b.bits));
		return true;
	}
	if (op != HV_SIGN2('=', '=') && op != HV_SIGN2('!', '='))
		return false;
	*ret = truth(op == HV_SIGN2('!', '='));
	return true;
}

static bool divide(uint16_t op, struct hv_print_value *a, struct hv_print_value b)
{
	bool is_negation = a->type.is_signed && b.bits == (uint64_t)-1;

	if (!b.bits)
		return false;
	if (is_negation)
		a->bits = op == '/' ? -a->bits : 0;
	else if (a->type.is_signed)
		a->bits = op == '/' ? (uint64_t)((int64_t)a->bits / (int64_t)b.bits)
				    : (uint64_t)((int64_t)a->bits % (int64_t)b.bits);
	else
		a->bits = op == '/' ? a->bits / b.bits : a->bits % b.bits;
	return true;
}

/* Shifts by the width of the number or more are undefined in C. CPUs use the count modulo the
 * width. */
static void shift(uint16_t op, struct hv_print_value *a, struct hv_print_value by)
{
	unsigned count = by.bits & (8u * a->type.size_bytes - 1);

	if (op == HV_SIGN2('<', '<'))
		a->bits <<= count;
	else if (a->type.is_signed)
		a->bits = (uint64_t)((int64_t)a->bits >> count);
	else
		a->bits >>= count;
}

static bool calculate(uint16_t op, struct hv_print_value *a, struct hv_print_value b)
{
	switch (op) {
	case '+':
		a->bits += b.bits;
		return true;
	case '-':
		a->bits -= b.bits;
		return true;
	case '*':
		a->bits *= b.bits;
		return true;
	case '&':
		a->bits &= b.bits;
		return true;
	case '|':
		a->bits |= b.bits;
		return true;
	case '^':
		a->bits ^= b.bits;
		return true;
	case '/':
	case '%':
		return divide(op, a, b);
	}
	return false;
}

/* For numbers, and pointers used as numbers. */
static bool numbers(uint16_t op, struct hv_print_value a, struct hv_print_value b,
		    struct hv_print_value *ret)
{
	if (op == HV_SIGN2('<', '<') || op == HV_SIGN2('>', '>')) {
		a = hv_print_cast(a, promote(a.type));
		shift(op, &a, b);
		*ret = hv_print_number_value(a.bits, a.type);
		return true;
	}
	a = hv_print_cast(a, hv_print_common_type(a.type, b.type));
	b = hv_print_cast(b, a.type);
	if (is_comparison(op)) {
		*ret = truth(compare(op, a.type.is_signed, a.bits, b.bits));
		return true;
	}
	if (!calculate(op, &a, b))
		return false;
	*ret = hv_print_number_value(a.bits, a.type);
	return true;
}

bool hv_print_binary(uint16_t op, struct hv_print_value a, struct hv_print_value b,
		     struct hv_print_value *ret)
{
	bool has_address = a.space != HV_SPACE_GUEST || b.space != HV_SPACE_GUEST;

	if (has_address && is_comparison(op))
		return compare_addresses(op, a, b, ret);
	if (a.type.is_pointer && !b.type.is_pointer && (op == '+' || op == '-'))
		return move(op, a, b, ret);
	if (b.type.is_pointer && !a.type.is_pointer && op == '+')
		return move(op, b, a, ret);
	return !has_address && numbers(op, a, b, ret);
}
