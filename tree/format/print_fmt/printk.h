/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Prints numbers and strings as the kernel's vsnprintf does (lib/vsprintf.c), into a buffer of a
 * fixed size. What does not fit is left out. It differs from the C library's: "%#x" of 0 is 0x0,
 * "%.3s" of NULL is cut, widths of several conversions are ignored.
 * Leaves to others: %p with its letters (pointer.h). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A text that grows up to END. What does not fit is left out, and FULL is set. */
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
	uint8_t number_bytes; /* of the argument of d, u, x, o: 1, 2, 4 or 8 */
	bool width_is_arg;
	bool precision_is_arg;
	int32_t width;			/* -1: none */
	int32_t precision;		/* -1: none */
	char ext[HV_PRINT_EXT_MAX + 1]; /* letters and digits behind %p */
};

/* Reads the conversion at TEXT, which begins with '%'. Returns its length in bytes; 0: the kernel
 * does not know it. */
size_t hv_print_spec_parse(const char *text, size_t len_bytes, struct hv_print_spec *ret);

/* Sets a width or precision that is an argument. A negative width means left, a negative precision
 * none. */
void hv_print_spec_set_width(struct hv_print_spec *spec, int32_t width);
void hv_print_spec_set_precision(struct hv_print_spec *spec, int32_t precision);

/* Prints NUMBER as d, u, x or o. Only its lowest NUMBER_BYTES bytes count. */
void hv_print_number(struct hv_print_out *out, const struct hv_print_spec *spec, uint64_t number);
/* Prints LEN bytes as s. The precision is applied. */
void hv_print_string(struct hv_print_out *out, const struct hv_print_spec *spec, const char *bytes,
		     size_t len_bytes);
void hv_print_letter(struct hv_print_out *out, const struct hv_print_spec *spec, char c);

/* Shorthand without flags: "%lu", "0x%lx". */
void hv_print_decimal(struct hv_print_out *out, uint64_t number);
void hv_print_hex(struct hv_print_out *out, uint64_t number);
/* Prints a byte as two lower-case hex digits. */
void hv_print_hex_byte(struct hv_print_out *out, uint8_t byte);
