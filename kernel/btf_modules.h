/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BTF of a loaded module, from the copy that the kernel keeps of it (since 5.11,
 * CONFIG_DEBUG_INFO_BTF_MODULES). It comes and goes with the module: it is read when it is needed,
 * and everything in it is hostile. */
#pragma once

#include "kernel/core.h"

/* MODULE: its struct module. *RET: owned by the caller, borrows core->btf; NULL: the kernel has no
 * BTF of this module. Fails if what it has cannot be read or does not belong to the kernel's. */
struct hv_err *hv_btf_of_module(const struct hv_kernel_core *core, struct hv_gva module,
				struct hv_btf **ret) hv_must_use;
