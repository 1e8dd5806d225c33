/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the symbol that contains an address, in the core kernel or a module, like the kernel's
 * kallsyms_lookup(). Private to kernel/; other folders use hv_kernel_symbol_at(). */
#pragma once

#include "kernel/core/core.h"
#include "kernel/sites/modules.h"

/* Returns false if no symbol contains the address. *RET_MODULE is NULL for the core kernel. */
bool hv_kallsyms_lookup(const struct hv_kernel_core *core, const struct hv_modules *modules,
			struct hv_gva addr, const char **ret_name, const char **ret_module,
			uint64_t *ret_off);
/* Returns the distance from the symbol that contains ADDR to the next symbol (get_symbol_pos), or 0
 * if no symbol contains it. */
uint64_t hv_kallsyms_lookup_size(const struct hv_kernel_core *core,
				 const struct hv_modules *modules, struct hv_gva addr);
