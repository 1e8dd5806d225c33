/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The range of kernel addresses that its text can call: where stubs can be mapped, and how a record
 * encodes a text address. On some architectures it is the same in every kernel (arch/arch.h); on
 * others it is computed from the image's address (kernel_arch.h). patcher/mapping.h chooses an
 * address. */
#pragma once

#include "base/addr.h"

#define HV_MODULE_AREAS 2

struct hv_reach {
	/* Records encode an address of kernel text as an offset from here, with HV_TEXT_BIT. */
	struct hv_gva text_base;
	/* hvtrace may use free page-table entries in this range. It does not change while the
	 * kernel runs: recover looks for hvtrace's entries here. */
	struct hv_gva_range free_window;
	/* Code that starts here can be called from everywhere in the image. */
	struct hv_gva_range code;
	/* Where code starts if `code` has no room. Then some modules cannot call it or, if landings
	 * are possible, all modules call landings, which are in `code`. */
	struct hv_gva_range code_else;
	/* A call target must be ENTRY_OFF after a multiple of ENTRY_BYTES. 0: no restriction. */
	unsigned entry_bytes;
	unsigned entry_off;
	/* Ranges in or around the window where the kernel maps modules, each at the lowest free
	 * address. hvtrace leaves room at their starts. Empty: no modules in the window. */
	struct hv_gva_range module_areas[HV_MODULE_AREAS];
	/* Where landings may be mapped, for modules that cannot reach the stubs; not necessarily in
	 * the window. Empty: there are no such modules. */
	struct hv_gva_range landings;
	struct hv_gva_range kept; /* in the window, but reserved: the kernel maps it */
};

struct hv_kernel_core;

/* Returns an empty free_window if no address is known. */
struct hv_reach hv_reach_of(const struct hv_kernel_core *core);
