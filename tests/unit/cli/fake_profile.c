/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/cli/fake_profile.h"

#include <string.h>

static const struct fake_function {
	const char *name;
	unsigned cpu;
	unsigned hits, hits_more; /* initial hits, and growth per look */
	double us, us_more;
} functions[] = {
	{"vfs_write", 0, 5, 2, 300, 30000},
	{"vfs_read", 0, 100, 10, 1500000, 1000},
	{"vfs_read", 1, 11, 1, 0.5, 0.5},
	{"bad\x1b[2J", 1, 0, 1, 0, 7.25},
};

void fake_profile_text(unsigned cpu, unsigned nr, const char *filter, struct hv_text *ret)
{
	hv_text_add(ret,
		    "  Function                               Hit    Time            Avg       "
		    "      s^2\n"
		    "  --------                               ---    ----            ---       "
		    "      ---\n");
	for (size_t i = 0; i < HV_ARRAY_LEN(functions); i++) {
		const struct fake_function *f = &functions[i];
		unsigned hits = f->hits + nr * f->hits_more;
		double us = f->us + nr * f->us_more;

		if (f->cpu == cpu && hits && (!*filter || strstr(filter, f->name)))
			hv_text_printf(ret, "  %-30s  %10u    %.3f us    %.3f us    0.000 us\n",
				       f->name, hits, us, us / hits);
	}
}
