/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds variables of a kernel without symbols for data (no CONFIG_KALLSYMS_ALL), from guest memory
 * alone: from the image's exports, BTF, and the code of functions that use a variable. An address
 * is accepted only if two independent sources confirm it and no other address matches. A variable
 * that is not found has no symbol, so code that needs it fails with its name. All input is
 * untrusted: searches are bounded. kallsyms.h reads kernels with data symbols; vmlinux.h reads
 * files. */
#pragma once

#include "kernel/arch/kernel_arch.h"

/* Finds the only address with the uses and the form of U. Returns false if there is no match or
 * more than one. */
bool hv_unnamed_search(const struct hv_kernel_core *core, const struct hv_unnamed *u,
		       struct hv_gva *ret);

/* Finds the types (BTF) from the image alone, for core->unnamed. Returns false if core->symbols has
 * names of data, the architecture's code cannot be searched (follow_data), or there are no
 * types. */
bool hv_unnamed_find_types(struct hv_kernel_core *core);
/* Finds all other variables after hv_unnamed_find_types(). Needs core->btf. Fails with ECANCELED,
 * or with ENOENT if the kernel cannot be identified. */
struct hv_err *hv_unnamed_find(struct hv_kernel_core *core) hv_must_use;
