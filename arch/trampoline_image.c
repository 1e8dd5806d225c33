/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "arch/arch.h"

const char *const hv_hole_names[HV_NR_HOLES] = {
#define NAME(name) [HV_HOLE_##name] = #name,
	HV_HOLES(NAME)
#undef NAME
		[HV_HOLE_code] = "code",
};
