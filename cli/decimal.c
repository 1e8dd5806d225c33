/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/decimal.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool decimal_parse(const char **at, uint64_t *ret_thousandths)
{
	const char *p = *at;
	uint64_t n = 0;
	unsigned digits = 0;
	uint64_t scale = 1000;

	for (; is_digit(*p); p++, digits++) {
		if (digits == 12)
			return false;
		n = n * 10 + (uint64_t)(*p - '0');
	}
	n *= 1000;
	if (*p == '.') {
		for (p++; is_digit(*p); p++, digits++) {
			scale /= 10;
			n += scale * (uint64_t)(*p - '0');
		}
	}
	if (!digits)
		return false;
	*at = p;
	*ret_thousandths = n;
	return true;
}
