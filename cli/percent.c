/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/percent.h"

#include <string.h>

#include "cli/decimal.h"

bool percent_parse(const char *text, uint64_t *ret_ppm)
{
	uint64_t thousandths;

	if (!decimal_parse(&text, &thousandths) ||
	    (strcmp(text, "") != 0 && strcmp(text, "%") != 0))
		return false;
	if (thousandths == 0 || thousandths > 100000)
		return false;
	*ret_ppm = thousandths * 10;
	return true;
}
