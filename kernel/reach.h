/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of the kernel's addresses that its text can call: where there is room for stubs, and how
 * a record names an address of text. It is the same in every kernel of some architectures
 * (arch/arch.h); of the others it is computed from the image's place (kernel_arch.h).
 * Leaves to others: choosing a place (patcher/mapping.h). */
#pragma once

#include "base/addr.h"

#define HV_MODULE_AREAS 2

struct hv_reach {
	/* In records, an address of kernel text is an offset from here, with HV_TEXT_BIT. */
	struct hv_gva text_base;
	/* Whose unused page-table slots hvtrace may fill in. It is the same as long as the kernel
	 * runs: recover looks for slots of ours here. */
	struct hv_gva_range free_window;
	/* Code that begins here can be called from everywhere in the image. */
	struct hv_gva_range code;
	/* Where it begins if there is no room for it there: some modules cannot call it then, or,
	 * where there can be landings, all call those, which are in CODE. */
	struct hv_gva_range code_else;
	/* What a site calls must be ENTRY_OFF behind a multiple of ENTRY_BYTES. 0: it may be
	 * anywhere. */
	unsigned entry_bytes;
	unsigned entry_off;
	/* Parts of the window, or around it, in which the kernel maps modules, each at the lowest
	 * address that is free. Room must be left to it at their starts. Empty: it maps none in the
	 * window. */
	struct hv_gva_range module_areas[HV_MODULE_AREAS];
	/* Where landings may be mapped, for modules that are out of reach of the stubs; it need not
	 * be in the window. Empty: there are no such modules. */
	struct hv_gva_range landings;
	struct hv_gva_range kept; /* in the window, and never to be used: the kernel maps it */
};

struct hv_kernel_core;

/* An empty free_window: no place is known. */
struct hv_reach hv_reach_of(const struct hv_kernel_core *core);
