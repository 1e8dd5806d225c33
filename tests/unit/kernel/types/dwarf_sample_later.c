/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A second compilation unit. */
#include "tests/unit/kernel/types/dwarf_sample.h"

int sample_use_later(const struct sample_later *later)
{
	return later->number + (later->of ? later->of->comm[0] : 0);
}
