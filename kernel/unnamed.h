/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Variables of a kernel that keeps the names of its functions only (no CONFIG_KALLSYMS_ALL), from
 * the guest's memory alone: by what the image exports, by BTF, and by the code of functions that
 * use a variable. A place counts if two things tell it that do not depend on each other, and if
 * nothing else is told by them. What is not found stays without a place, so who needs it is refused
 * with its name. Everything that is read is hostile: searches are bounded.
 * Leaves to others: kernels that have the names (kallsyms.h), files (vmlinux.h). */
#pragma once

#include "arch/arch.h"
#include "kernel/core.h"

#define HV_UNNAMED_FUNCTIONS 6

/* A private variable. */
struct hv_unnamed {
	const char *name;
	/* Functions that use it, as far as the kernel has them; NULL ends them. */
	const char *functions[HV_UNNAMED_FUNCTIONS];
	unsigned functions_min; /* so many of them use it */
	/* How they do: they read LEN_BYTES (HV_DATA_READ), compute its address (HV_DATA_ADDRESS),
	 * or pass what they read as ARGUMENT of CALLED (HV_DATA_PASS). */
	unsigned kind;
	unsigned len_bytes;
	unsigned argument;
	const char *called;
	/* Whether what is there can be this variable and nothing else. */
	bool (*is_at)(const struct hv_kernel_core *core, struct hv_gva at);
};

/* Finds the only place that has the uses and the form of U. False: there is none, or more. */
bool hv_unnamed_search(const struct hv_kernel_core *core, const struct hv_unnamed *u,
		       struct hv_gva *ret);

/* Finds the types (BTF) by the image alone, for core->unnamed. False: core->symbols has names of
 * data, or the architecture's code cannot be searched (follow_data), or there are no types. */
bool hv_unnamed_find_types(struct hv_kernel_core *core);
/* Then all others. Needs core->btf. Fails with ECANCELED, or with ENOENT when it is not known which
 * kernel it is. */
struct hv_err *hv_unnamed_find(struct hv_kernel_core *core) hv_must_use;
