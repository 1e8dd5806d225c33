/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the types of the guest's kernel, and with them the layouts of its structures, come from.
 * The sources are tried in this order, and the first one that has types is used:
 *
 *   the guest's memory  BTF in the image, as distributions build kernels
 *   a vmlinux           .BTF of the file that the user provides, or its DWARF; its build id is the
 *                       guest's
 *   a BTF file          of the kernel's release; btf_proof.h must prove that it is the guest's
 *
 * If none has them, derive/derive.h finds the most important members in the guest's code and memory.
 * Private to kernel/. */
#pragma once

#include "kernel/core/core.h"

struct hv_identity;
struct hv_vmlinux;

/* The user's files; each may be NULL. */
struct hv_type_files {
	struct hv_vmlinux *vmlinux;
	const struct hv_btf_files *btf;
};

/* Sets core->btf from the guest's memory, if it has types. Fails with EINVAL if they are
 * damaged. */
struct hv_err *hv_types_read_memory(struct hv_kernel_core *core) hv_must_use;
/* Sets core->btf and core->types from the first source that has types, unless core->btf is set. If
 * none has, core->btf stays NULL, which is no error, and core->no_types is the reason, or NULL.
 * Fails with EINVAL if a file is of another build. */
struct hv_err *hv_types_find(struct hv_kernel_core *core, const struct hv_type_files *files,
			     const struct hv_identity *id) hv_must_use;
