/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints numbers and strings like the kernel's vsnprintf (lib/vsprintf.c), into a fixed-size
 * buffer. It differs from the C library's: "%#x" of 0 is 0x0, "%.3s" of NULL is truncated, several
 * conversions ignore widths. pointer.h handles %p. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Output that grows up to END. The rest is discarded, and FULL is set. */
struct hv_print_out {
	char *start;
	char *at;
	char *end;
	bool full;
};

void hv_print_char(struct hv_print_out *out, char c);
void hv_print_repeat(struct hv_print_out *out, char c, int64_t nr);
void hv_print_bytes(struct hv_print_out *out, const char *bytes, size_t len_bytes);
void hv_print_text(struct hv_print_out *out, const char *text);

enum hv_print_flag {
	HV_PRINT_LEFT = 1 << 0,
	HV_PRINT_PLUS = 1 << 1,
	HV_PRINT_SPACE = 1 << 2,
	HV_PRINT_SPECIAL = 1 << 3,
	HV_PRINT_ZERO = 1 << 4,
	HV_PRINT_SIGNED = 1 << 5,
	HV_PRINT_UPPER = 1 << 6,
};

#define HV_PRINT_EXT_MAX 7

/* One conversion: "%-5d". */
struct hv_print_spec {
	char conv;	      /* d (d and i), u, x (x and X), o, c, s, p, % */
	uint8_t flags;	      /* of enum hv_print_flag */
	uint8_t number_bytes; /* size of the argument of d, u, x, o: 1, 2, 4 or 8 */
	bool width_is_arg;
	bool precision_is_arg;
	int32_t width;			/* -1: no width */
	int32_t precision;		/* -1: no precision */
	char ext[HV_PRINT_EXT_MAX + 1]; /* letters and digits after %p */
};

/* Parses the conversion at TEXT, which begins with '%'. Returns its length in bytes, or 0 if the
 * kernel does not know it. */
size_t hv_print_spec_parse(const char *text, size_t len_bytes, struct hv_print_spec *ret);

/* Set a width or precision from an argument. A negative width means left-aligned, a negative
 * precision none. */
void hv_print_spec_set_width(struct hv_print_spec *spec, int32_t width);
void hv_print_spec_set_precision(struct hv_print_spec *spec, int32_t precision);

/* Prints NUMBER as d, u, x or o. Uses only its lowest NUMBER_BYTES bytes. */
void hv_print_number(struct hv_print_out *out, const struct hv_print_spec *spec, uint64_t number);
/* Prints LEN bytes as s, with the precision. */
void hv_print_string(struct hv_print_out *out, const struct hv_print_spec *spec, const char *bytes,
		     size_t len_bytes);
void hv_print_letter(struct hv_print_out *out, const struct hv_print_spec *spec, char c);

/* Shorthand without flags: "%lu", "0x%lx". */
void hv_print_decimal(struct hv_print_out *out, uint64_t number);
void hv_print_hex(struct hv_print_out *out, uint64_t number);
/* Prints a byte as two lower-case hex digits. */
void hv_print_hex_byte(struct hv_print_out *out, uint8_t byte);
