/* Whose an address is, by the core kernel's symbols and those of modules, as the kernel's own
 * kallsyms_lookup() tells it. Private to kernel/; hv_kernel_symbol_at() is for everyone. */
#pragma once

#include "kernel/core.h"
#include "kernel/modules.h"

/* False: nobody's address. *RET_MODULE NULL for vmlinux. */
bool hv_kallsyms_lookup(const struct hv_kernel_core *core, const struct hv_modules *modules,
			struct hv_gva addr, const char **ret_name, const char **ret_module,
			uint64_t *ret_off);
/* Bytes from the symbol that ADDR is in to the next one (get_symbol_pos); 0: nobody's address. */
uint64_t hv_kallsyms_lookup_size(const struct hv_kernel_core *core,
				 const struct hv_modules *modules, struct hv_gva addr);
