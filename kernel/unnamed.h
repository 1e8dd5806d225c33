/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds variables of a kernel without symbols for data (no CONFIG_KALLSYMS_ALL), from guest memory
 * alone: from the image's exports, BTF, and the code of functions that use a variable. An address
 * is accepted only if two independent sources confirm it and no other address matches. A variable
 * that is not found has no symbol, so code that needs it fails with its name. All input is
 * untrusted: searches are bounded. kallsyms.h reads kernels with data symbols; vmlinux.h reads
 * files. */
#pragma once

#include "kernel/arch/kernel_arch.h"
#include "kernel/core/core.h"

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

/* Recognise the lists of trace events by their form. events/ reads the events.
 *
 * Returns whether the list of trace arrays (ftrace_trace_arrays) is at HEAD. Its last element must
 * be a variable of the kernel, whose files point to it and to kernel events. */
bool hv_trace_arrays_are_at(const struct hv_kernel_core *core, struct hv_gva head);

/* Returns whether the list of fields of all records (ftrace_common_fields) is at HEAD: the members
 * of struct trace_entry, as BTF describes them. */
bool hv_common_fields_are_at(const struct hv_kernel_core *core, struct hv_gva head);
