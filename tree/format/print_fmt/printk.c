/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/printk.h"

#include <ctype.h>
#include <string.h>

#include "base/guard.h"

#define WIDTH_MAX     ((1 << 23) - 1)
#define PRECISION_MAX ((1 << 15) - 1)
#define DIGITS_MAX    24 /* of 64 bits, octal */

void hv_print_char(struct hv_print_out *out, char c)
{
	if (out->at == out->end) {
		out->full = true;
		return;
	}
	*out->at++ = c;
}

void hv_print_repeat(struct hv_print_out *out, char c, int64_t nr)
{
	int64_t room = out->end - out->at;

	if (nr <= 0)
		return;
	if (nr > room) {
		out->full = true;
		nr = room;
	}
	memset(out->at, c, (size_t)nr);
	out->at += nr;
}

void hv_print_bytes(struct hv_print_out *out, const char *bytes, size_t len_bytes)
{
	size_t room = (size_t)(out->end - out->at);

	if (len_bytes > room) {
		out->full = true;
		len_bytes = room;
	}
	memcpy(out->at, bytes, len_bytes);
	out->at += len_bytes;
}

void hv_print_text(struct hv_print_out *out, const char *text)
{
	hv_print_bytes(out, text, strlen(text));
}

/* Parser of conversions. */

struct spec_text {
	const char *at;
	const char *end;
};

static char peek(const struct spec_text *t)
{
	return t->at < t->end ? *t->at : '\0';
}

static uint8_t take_flags(struct spec_text *t)
{
	static const struct {
		char letter;
		uint8_t flag;
	} known[] = {
		{'-', HV_PRINT_LEFT},	 {'+', HV_PRINT_PLUS}, {' ', HV_PRINT_SPACE},
		{'#', HV_PRINT_SPECIAL}, {'0', HV_PRINT_ZERO},
	};
	uint8_t flags = 0;

	for (;; t->at++) {
		uint8_t flag = 0;

		for (unsigned i = 0; i < HV_ARRAY_LEN(known); i++)
			if (peek(t) == known[i].letter)
				flag = known[i].flag;
		if (!flag)
			return flags;
		flags |= flag;
	}
}

static int32_t take_number(struct spec_text *t, int32_t max)
{
	int64_t number = 0;

	for (; isdigit((unsigned char)peek(t)); t->at++) {
		number = number * 10 + (peek(t) - '0');
		if (number > max)
			number = max;
	}
	return (int32_t)number;
}

static void take_width(struct spec_text *t, struct hv_print_spec *spec)
{
	spec->width = spec->precision = -1;
	if (peek(t) == '*') {
		spec->width_is_arg = true;
		t->at++;
	} else if (isdigit((unsigned char)peek(t))) {
		spec->width = take_number(t, WIDTH_MAX);
	}
	if (peek(t) != '.')
		return;
	t->at++;
	if (peek(t) == '*') {
		spec->precision_is_arg = true;
		t->at++;
	} else if (isdigit((unsigned char)peek(t))) {
		spec->precision = take_number(t, PRECISION_MAX);
	}
}

/* The kernel treats 'L' as "ll", and 'z' and 't' as "l". */
static uint8_t take_size(struct spec_text *t)
{
	char letter = peek(t);

	if (!letter || !strchr("hlLzt", letter))
		return 4;
	t->at++;
	if (peek(t) != letter || !strchr("hl", letter))
		return letter == 'h' ? 2 : 8;
	t->at++;
	return letter == 'h' ? 1 : 8;
}

static void take_pointer_letters(struct spec_text *t, struct hv_print_spec *spec)
{
	for (unsigned nr = 0; isalnum((unsigned char)peek(t)); t->at++)
		if (nr < HV_PRINT_EXT_MAX)
			spec->ext[nr++] = peek(t);
}

static bool take_letter(struct spec_text *t, struct hv_print_spec *spec)
{
	char letter = peek(t);

	if (!letter || !strchr("csp%diuxXo", letter))
		return false;
	t->at++;
	spec->conv = letter;
	if (letter == 'i' || letter == 'd') {
		spec->conv = 'd';
		spec->flags |= HV_PRINT_SIGNED;
	}
	if (letter == 'X') {
		spec->conv = 'x';
		spec->flags |= HV_PRINT_UPPER;
	}
	if (letter == 'p')
		take_pointer_letters(t, spec);
	return true;
}

size_t hv_print_spec_parse(const char *text, size_t len_bytes, struct hv_print_spec *ret)
{
	struct spec_text t = {.at = text + 1, .end = text + len_bytes};
	struct hv_print_spec spec = {.flags = take_flags(&t)};

	take_width(&t, &spec);
	spec.number_bytes = take_size(&t);
	if (!take_letter(&t, &spec))
		return 0;
	*ret = spec;
	return (size_t)(t.at - text);
}

void hv_print_spec_set_width(struct hv_print_spec *spec, int32_t width)
{
	if (width < 0) {
		spec->flags |= HV_PRINT_LEFT;
		width = width < -WIDTH_MAX ? WIDTH_MAX : -width;
	}
	spec->width = width > WIDTH_MAX ? WIDTH_MAX : width;
}

void hv_print_spec_set_precision(struct hv_print_spec *spec, int32_t precision)
{
	if (precision < 0)
		precision = -1;
	spec->precision = precision > PRECISION_MAX ? PRECISION_MAX : precision;
}

/* Output. */

static unsigned base_of(const struct hv_print_spec *spec)
{
	if (spec->conv == 'x')
		return 16;
	return spec->conv == 'o' ? 8 : 10;
}

static uint64_t narrow(const struct hv_print_spec *spec, uint64_t number)
{
	unsigned unused_bits = 64 - 8 * spec->number_bytes;

	if (spec->flags & HV_PRINT_SIGNED)
		return (uint64_t)((int64_t)(number << unused_bits) >> unused_bits);
	return number << unused_bits >> unused_bits;
}

/* Writes the digits of NUMBER, the last one directly before END. Returns their start. */
static char *put_digits(char *end, uint64_t number, unsigned base, const char *digits)
{
	do {
		*--end = digits[number % base];
		number /= base;
	} while (number);
	return end;
}

/* Sets the text before the digits: a sign, or the prefix of a base. Replaces *NUMBER by its
 * absolute value. */
static void put_prefix(char prefix[3], const struct hv_print_spec *spec, uint64_t *number)
{
	if (spec->flags & HV_PRINT_SIGNED) {
		if ((int64_t)*number < 0) {
			*prefix++ = '-';
			*number = -*number;
		} else if (spec->flags & (HV_PRINT_PLUS | HV_PRINT_SPACE)) {
			*prefix++ = spec->flags & HV_PRINT_PLUS ? '+' : ' ';
		}
	}
	if (spec->flags & HV_PRINT_SPECIAL && spec->conv == 'x') {
		*prefix++ = '0';
		*prefix++ = spec->flags & HV_PRINT_UPPER ? 'X' : 'x';
	} else if (spec->flags & HV_PRINT_SPECIAL && spec->conv == 'o' && *number) {
		*prefix++ = '0';
	}
	*prefix = '\0';
}

static void put_padded(struct hv_print_out *out, const struct hv_print_spec *spec,
		       const char *prefix, const char *digits, int nr_digits)
{
	int prefix_len = (int)strlen(prefix);
	int zeros = spec->precision > nr_digits ? spec->precision - nr_digits : 0;
	int pad = spec->width - prefix_len - zeros - nr_digits;

	if (!(spec->flags & (HV_PRINT_LEFT | HV_PRINT_ZERO)))
		hv_print_repeat(out, ' ', pad);
	hv_print_bytes(out, prefix, (size_t)prefix_len);
	if ((spec->flags & (HV_PRINT_LEFT | HV_PRINT_ZERO)) == HV_PRINT_ZERO)
		hv_print_repeat(out, '0', pad);
	hv_print_repeat(out, '0', zeros);
	hv_print_bytes(out, digits, (size_t)nr_digits);
	if (spec->flags & HV_PRINT_LEFT)
		hv_print_repeat(out, ' ', pad);
}

void hv_print_number(struct hv_print_out *out, const struct hv_print_spec *spec, uint64_t number)
{
	const char *digits = spec->flags & HV_PRINT_UPPER ? "0123456789ABCDEF" : "0123456789abcdef";
	char buffer[DIGITS_MAX];
	char prefix[3];
	char *start;

	number = narrow(spec, number);
	put_prefix(prefix, spec, &number);
	start = put_digits(buffer + DIGITS_MAX, number, base_of(spec), digits);
	put_padded(out, spec, prefix, start, (int)(buffer + DIGITS_MAX - start));
}

void hv_print_string(struct hv_print_out *out, const struct hv_print_spec *spec, const char *bytes,
		     size_t len_bytes)
{
	if (spec->precision >= 0 && len_bytes > (size_t)spec->precision)
		len_bytes = (size_t)spec->precision;
	if (!(spec->flags & HV_PRINT_LEFT))
		hv_print_repeat(out, ' ', spec->width - (int64_t)len_bytes);
	hv_print_bytes(out, bytes, len_bytes);
	if (spec->flags & HV_PRINT_LEFT)
		hv_print_repeat(out, ' ', spec->width - (int64_t)len_bytes);
}

void hv_print_letter(struct hv_print_out *out, const struct hv_print_spec *spec, char c)
{
	if (!(spec->flags & HV_PRINT_LEFT))
		hv_print_repeat(out, ' ', spec->width - 1);
	hv_print_char(out, c);
	if (spec->flags & HV_PRINT_LEFT)
		hv_print_repeat(out, ' ', spec->width - 1);
}

void hv_print_decimal(struct hv_print_out *out, uint64_t number)
{
	char buffer[DIGITS_MAX];
	char *start = put_digits(buffer + DIGITS_MAX, number, 10, "0123456789");

	hv_print_bytes(out, start, (size_t)(buffer + DIGITS_MAX - start));
}

void hv_print_hex(struct hv_print_out *out, uint64_t number)
{
	char buffer[DIGITS_MAX];
	char *start = put_digits(buffer + DIGITS_MAX, number, 16, "0123456789abcdef");

	hv_print_text(out, "0x");
	hv_print_bytes(out, start, (size_t)(buffer + DIGITS_MAX - start));
}

void hv_print_hex_byte(struct hv_print_out *out, uint8_t byte)
{
	hv_print_char(out, "0123456789abcdef"[byte >> 4]);
	hv_print_char(out, "0123456789abcdef"[byte & 15]);
}
