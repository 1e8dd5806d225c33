/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/duration.h"

#include <stddef.h>
#include <string.h>

#include "base/clock.h"
#include "cli/decimal.h"

static bool unit_ns(const char *unit, uint64_t *ret)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {
		{"", HV_NS_PER_S},	   {"s", HV_NS_PER_S},
		{"ms", 1000000},	   {"us", 1000},
		{"m", 60 * HV_NS_PER_S},   {"min", 60 * HV_NS_PER_S},
		{"h", 3600 * HV_NS_PER_S},
	};

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].name) == 0) {
			*ret = units[i].ns;
			return true;
		}
	}
	return false;
}

bool duration_parse(const char *text, uint64_t *ret_ns)
{
	uint64_t thousandths;
	uint64_t unit;
	uint64_t ns;

	if (!decimal_parse(&text, &thousandths) || !unit_ns(text, &unit))
		return false;
	if (__builtin_mul_overflow(thousandths, unit / 1000, &ns))
		return false;
	if (ns == 0 || ns > DURATION_MAX_NS)
		return false;
	*ret_ns = ns;
	return true;
}
