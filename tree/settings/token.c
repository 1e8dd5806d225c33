/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tree/settings/token.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define NUMBER_MAX 66 /* kstrtoul_from_user */

void hv_token_clear(struct hv_token *t)
{
	t->len_bytes = 0;
	t->unfinished = 0;
}

static bool is_delimiter(char c)
{
	return c == '\0' || isspace((unsigned char)c);
}

struct hv_err *hv_token_take(struct hv_token *t, size_t size_max, const char *buf, size_t len_bytes,
			     size_t *ret_used)
{
	size_t i = 0;

	assert(size_max <= sizeof(t->text));
	if (!t->unfinished) {
		hv_token_clear(t);
		while (i < len_bytes && isspace((unsigned char)buf[i]))
			i++;
	}
	for (; i < len_bytes && !is_delimiter(buf[i]); i++) {
		if (t->len_bytes >= size_max - 1) {
			hv_token_clear(t);
			return hv_err_new(EINVAL, "a word has more than %zu bytes", size_max - 1);
		}
		t->text[t->len_bytes++] = buf[i];
	}
	t->text[t->len_bytes] = '\0';
	t->unfinished = i == len_bytes && t->len_bytes != 0;
	*ret_used = i < len_bytes ? i + 1 : i;
	return NULL;
}

static char *copy_text(const char *buf, size_t len_bytes)
{
	char *copy = hv_alloc(len_bytes + 1);

	memcpy(copy, buf, len_bytes);
	return copy;
}

char *hv_name_written(const char *buf, size_t len_bytes)
{
	size_t len = strnlen(buf, len_bytes);

	while (len && isspace((unsigned char)buf[len - 1]))
		len--;
	while (len && isspace((unsigned char)buf[0])) {
		buf++;
		len--;
	}
	return copy_text(buf, len);
}

static const char *skip_base(const char *text, unsigned *base)
{
	bool hex = text[0] == '0' && tolower((unsigned char)text[1]) == 'x';

	if (*base == 0 && text[0] != '0')
		*base = 10;
	if (*base == 0)
		*base = hex && isxdigit((unsigned char)text[2]) ? 16 : 8;
	return *base == 16 && hex ? text + 2 : text;
}

static unsigned digit_value(char c)
{
	if (isdigit((unsigned char)c))
		return (unsigned)(c - '0');
	if (isxdigit((unsigned char)c))
		return (unsigned)(tolower((unsigned char)c) - 'a') + 10;
	return 255;
}

struct hv_err *hv_number_parse(const char *text, unsigned base, uint64_t *ret)
{
	const char *at = text[0] == '+' ? text + 1 : text;
	const char *digits = at = skip_base(at, &base);
	int line_len = (int)strcspn(text, "\n");
	uint64_t value = 0;
	bool overflow = false;

	for (; digit_value(*at) < base; at++) {
		overflow |= __builtin_mul_overflow(value, base, &value);
		overflow |= __builtin_add_overflow(value, digit_value(*at), &value);
	}
	if (overflow)
		return hv_err_new(ERANGE, "'%.*s' is too large a number", line_len, text);
	if (at == digits || at[*at == '\n'])
		return hv_err_new(EINVAL, "'%.*s' is not a number", line_len, text);
	*ret = value;
	return NULL;
}

struct hv_err *hv_number_written(const char *buf, size_t len_bytes, uint64_t *ret)
{
	HV_AUTO_FREE char *text = copy_text(buf, len_bytes < NUMBER_MAX ? len_bytes : NUMBER_MAX);

	return hv_number_parse(text, 10, ret);
}
