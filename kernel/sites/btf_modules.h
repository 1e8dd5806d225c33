/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BTF of a loaded module, from the kernel's copy (since 5.11, CONFIG_DEBUG_INFO_BTF_MODULES).
 * The copy exists only as long as the module, so it is read when it is needed. Its contents are
 * untrusted. */
#pragma once

#include "kernel/core/core.h"

/* MODULE is the address of its struct module. The caller owns *RET, which borrows core->btf. *RET
 * is NULL if the kernel has no BTF for this module. Fails if the BTF cannot be read or does not
 * belong to the kernel's BTF. */
struct hv_err *hv_btf_of_module(const struct hv_kernel_core *core, struct hv_gva module,
				struct hv_btf **ret) hv_must_use;
