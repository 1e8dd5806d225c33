/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a number in the text of the monitor's `info registers`. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Parses the hexadecimal number after NAME, which must start a word: "CR3=0000000000a4c002".
 * Returns false if NAME is not found. */
static inline bool hv_register_in(const char *text, const char *name, uint64_t *ret)
{
	size_t len = strlen(name);

	for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
		char *end;
		uint64_t value;

		if (at != text && at[-1] != ' ' && at[-1] != '\n' && at[-1] != '\r')
			continue;
		value = strtoull(at + len, &end, 16);
		if (end == at + len)
			continue;
		*ret = value;
		return true;
	}
	return false;
}
