/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/format/print_fmt/lexer.h"

#include <ctype.h>
#include <string.h>

#include "base/prefix.h"

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static struct hv_print_token name(const char *text)
{
	struct hv_print_token token = {.kind = HV_TOKEN_NAME, .text = text};

	while (is_name(text[token.len_bytes]))
		token.len_bytes++;
	return token;
}

static int digit(char c)
{
	if (isdigit((unsigned char)c))
		return c - '0';
	if (isxdigit((unsigned char)c))
		return tolower((unsigned char)c) - 'a' + 10;
	return 16;
}

static unsigned base_of(const char *text, size_t *ret_prefix)
{
	*ret_prefix = 0;
	if (text[0] != '0')
		return 10;
	*ret_prefix = 1;
	if (tolower((unsigned char)text[1]) != 'x')
		return 8;
	*ret_prefix = 2;
	return 16;
}

/* C11 6.4.4.1: a number has the first type that can represent it. A decimal number without a suffix
 * is never unsigned. */
static void choose_type(struct hv_print_token *token, unsigned base, bool has_long)
{
	bool may_be_unsigned = base != 10 || token->is_unsigned;

	token->number_bytes = 8;
	if (!has_long && token->number <= INT32_MAX) {
		token->number_bytes = 4;
	} else if (!has_long && token->number <= UINT32_MAX && may_be_unsigned) {
		token->number_bytes = 4;
		token->is_unsigned = true;
	} else if (token->number > INT64_MAX) {
		token->is_unsigned = true;
	}
}

static struct hv_print_token number(const char *text)
{
	struct hv_print_token token = {.kind = HV_TOKEN_NUMBER, .text = text};
	unsigned base = base_of(text, &token.len_bytes);
	bool has_long = false;

	while (digit(text[token.len_bytes]) < (int)base)
		token.number = token.number * base + (unsigned)digit(text[token.len_bytes++]);
	for (;; token.len_bytes++) {
		int suffix = tolower((unsigned char)text[token.len_bytes]);

		if (suffix == 'u')
			token.is_unsigned = true;
		else if (suffix == 'l')
			has_long = true;
		else
			break;
	}
	choose_type(&token, base, has_long);
	if (is_name(text[token.len_bytes]))
		token.kind = HV_TOKEN_BAD;
	return token;
}

/* Reads a token up to the closing QUOTE. */
static struct hv_print_token quoted(const char *text, char quote)
{
	struct hv_print_token token = {.kind = HV_TOKEN_STRING, .text = text + 1};

	while (token.text[token.len_bytes] && token.text[token.len_bytes] != quote)
		token.len_bytes +=
			token.text[token.len_bytes] == '\\' && token.text[token.len_bytes + 1] ? 2
											       : 1;
	if (!token.text[token.len_bytes])
		token.kind = HV_TOKEN_BAD;
	return token;
}

static struct hv_print_token character(const char *text)
{
	struct hv_print_token token = quoted(text, '\'');
	char letter[8];

	if (token.kind == HV_TOKEN_BAD || !token.len_bytes || token.len_bytes > 4 ||
	    hv_print_unescape(token.text, token.len_bytes, letter) != 1)
		return (struct hv_print_token){.kind = HV_TOKEN_BAD, .text = text};
	token.kind = HV_TOKEN_NUMBER;
	token.number = (uint64_t)(int64_t)(int8_t)letter[0];
	token.number_bytes = 4;
	return token;
}

static struct hv_print_token sign(const char *text)
{
	static const char pairs[][3] = {"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
	struct hv_print_token token = {
		.kind = HV_TOKEN_SIGN, .text = text, .len_bytes = 1, .sign = (uint8_t)text[0]};

	for (unsigned i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (!hv_starts_with(text, pairs[i]))
			continue;
		token.len_bytes = 2;
		token.sign = HV_SIGN2(text[0], text[1]);
		return token;
	}
	if (!strchr("()[]{},;:?.=<>+-*/%&|^!~", text[0]))
		token.kind = HV_TOKEN_BAD;
	return token;
}

struct hv_print_token hv_print_token(const char *text, size_t *at)
{
	struct hv_print_token token;
	unsigned quotes = 0;

	while (isspace((unsigned char)text[*at]))
		++*at;
	text += *at;
	if (!text[0]) {
		return (struct hv_print_token){.kind = HV_TOKEN_END, .text = text};
	} else if (isdigit((unsigned char)text[0])) {
		token = number(text);
	} else if (is_name(text[0])) {
		token = name(text);
	} else if (text[0] == '"' || text[0] == '\'') {
		token = text[0] == '"' ? quoted(text, '"') : character(text);
		quotes = 2;
	} else {
		token = sign(text);
	}
	if (token.kind != HV_TOKEN_BAD)
		*at += token.len_bytes + quotes;
	return token;
}

/* Reads a number of at most MAX digits after a backslash. Returns the number of digits. */
static size_t escaped_number(const char *text, size_t len_bytes, unsigned base, size_t max,
			     char *ret)
{
	unsigned value = 0;
	size_t nr = 0;

	while (nr < len_bytes && nr < max && digit(text[nr]) < (int)base)
		value = value * base + (unsigned)digit(text[nr++]);
	*ret = (char)value;
	return nr;
}

/* Reads an escape after its backslash. Returns its length. */
static size_t escaped(const char *text, size_t len_bytes, char *ret)
{
	static const char letters[] = "ntrabfve";
	static const char meant[] = "\n\t\r\a\b\f\v\033";
	const char *found;

	if (text[0] >= '0' && text[0] <= '7')
		return escaped_number(text, len_bytes, 8, 3, ret);
	if (text[0] == 'x' && len_bytes > 1 && isxdigit((unsigned char)text[1]))
		return 1 + escaped_number(text + 1, len_bytes - 1, 16, 2, ret);
	found = strchr(letters, text[0]);
	*ret = found ? meant[found - letters] : text[0];
	return 1;
}

size_t hv_print_unescape(const char *text, size_t len_bytes, char *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < len_bytes;) {
		if (text[i] != '\\' || i + 1 == len_bytes) {
			ret[nr++] = text[i++];
			continue;
		}
		i++;
		i += escaped(text + i, len_bytes - i, &ret[nr++]);
	}
	return nr;
}
