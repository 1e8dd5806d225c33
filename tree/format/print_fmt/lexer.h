/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Splits a print_fmt, which is C after the preprocessor, into tokens. Strings may contain newlines.
 * parser.h parses the tokens. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hv_print_token_kind {
	HV_TOKEN_END,
	HV_TOKEN_NAME,
	HV_TOKEN_NUMBER, /* or a character constant: 'a' */
	HV_TOKEN_STRING, /* one literal; adjacent literals are separate tokens */
	HV_TOKEN_SIGN,	 /* an operator or bracket of one or two characters */
	HV_TOKEN_BAD,
};

struct hv_print_token {
	enum hv_print_token_kind kind;
	const char *text; /* points into the print_fmt; strings without quotes */
	size_t len_bytes;
	uint64_t number;
	uint8_t number_bytes; /* size of the number's type: 4 or 8 */
	bool is_unsigned;
	uint16_t sign; /* its characters: 'a', or 'a' << 8 | 'b' */
};

#define HV_SIGN2(a, b) ((uint16_t)((a) << 8 | (b)))

/* Reads the next token at TEXT[*AT], after blanks, and advances *AT, except for HV_TOKEN_END and
 * HV_TOKEN_BAD. TEXT is NUL-terminated. */
struct hv_print_token hv_print_token(const char *text, size_t *at);

/* Copies the characters of a string and replaces escapes (\n, \t, \", \\, octal and hex numbers).
 * RET has room for LEN_BYTES and may be TEXT. Returns the number of bytes written. */
size_t hv_print_unescape(const char *text, size_t len_bytes, char *ret);
