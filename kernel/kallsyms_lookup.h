/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the symbol that an address belongs to, of the core kernel or of a module, as the kernel's
 * own kallsyms_lookup() does. Private to kernel/; hv_kernel_symbol_at() is for everyone. */
#pragma once

#include "kernel/core.h"
#include "kernel/modules.h"

/* False: the address belongs to no symbol. *RET_MODULE is NULL for the core kernel. */
bool hv_kallsyms_lookup(const struct hv_kernel_core *core, const struct hv_modules *modules,
			struct hv_gva addr, const char **ret_name, const char **ret_module,
			uint64_t *ret_off);
/* Bytes from the symbol that ADDR belongs to up to the next symbol (get_symbol_pos). 0: it belongs
 * to none. */
uint64_t hv_kallsyms_lookup_size(const struct hv_kernel_core *core,
				 const struct hv_modules *modules, struct hv_gva addr);
