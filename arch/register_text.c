/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/register_text.h"

#include <stdlib.h>
#include <string.h>

bool hv_register_in(const char *text, const char *name, uint64_t *ret)
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
