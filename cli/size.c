#include "cli/size.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

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
	unsigned __int128 thousandths = 0;
	unsigned digits = 0, scale = 1000, shift;

	for (; isdigit((unsigned char)*text); text++) {
		if (++digits > 18)
			return false;
		thousandths = thousandths * 10 + (unsigned)(*text - '0') * 1000u;
	}
	if (!digits)
		return false;
	if (*text == '.') {
		for (text++; isdigit((unsigned char)*text); text++)
			thousandths += (scale /= 10) * (unsigned)(*text - '0');
	}
	if (!unit_shift(text, &shift))
		return false;
	thousandths = (thousandths << shift) / 1000;
	if (thousandths >> 63)
		return false;
	*ret_bytes = (uint64_t)thousandths & ~UINT64_C(0xfff);
	return true;
}
