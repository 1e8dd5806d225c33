/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/size.h"

#include <string.h>
#include <strings.h>

#include "cli/decimal.h"

static bool unit_shift(const char *unit, unsigned *ret)
{
	static const struct {
		const char *name;
		unsigned shift;
	} units[] = {{"", 20}, {"k", 10}, {"m", 20}, {"g", 30}, {"t", 40}};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t len = strlen(units[i].name);

		/* "G", "GiB" */
		if (strncasecmp(unit, units[i].name, len) != 0)
			continue;
		if (unit[len] && (!len || strcasecmp(unit + len, "ib") != 0))
			continue;
		*ret = units[i].shift;
		return true;
	}
	return false;
}

bool size_parse(const char *text, uint64_t *ret_bytes)
{
	unsigned __int128 bytes;
	uint64_t thousandths;
	unsigned shift;

	if (!decimal_parse(&text, &thousandths) || !unit_shift(text, &shift))
		return false;
	bytes = ((unsigned __int128)thousandths << shift) / 1000;
	if (bytes >> 63)
		return false;
	*ret_bytes = (uint64_t)bytes & ~UINT64_C(0xfff);
	return true;
}
