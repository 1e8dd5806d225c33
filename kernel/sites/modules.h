/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loaded modules: names, text bounds and symbols, from the kernel's current list. */
#pragma once

#include "kernel/core/core.h"

struct hv_module {
	char name[64];	  /* untrusted, NUL-terminated */
	struct hv_gva at; /* address of its struct module */
	struct hv_gva_range text;
	/* x86: ORC tables (orc.h); 0: none */
	uint32_t nr_orcs;
	struct hv_gva orc_ips, orcs;
	struct hv_symbols symbols; /* as find_kallsyms_symbol sees them */
};

struct hv_modules {
	struct hv_module *list; /* owned, sorted by text.start */
	size_t nr;
};

struct hv_err *hv_modules_read(const struct hv_kernel_core *core,
			       struct hv_modules *ret) hv_must_use;
/* Returns whether HEAD can be the list of modules, for kernels that do not export its name: each
 * entry must look like a module, and the links must lead back to HEAD. An empty list only has to
 * link to itself. */
bool hv_modules_are_at(const struct hv_kernel_core *core, struct hv_gva head);
void hv_modules_deinit(struct hv_modules *m);
/* Returns NULL if no module's text contains ADDR. */
const struct hv_module *hv_module_at(const struct hv_modules *m, struct hv_gva addr);

/* Returns NULL if not found. */
const struct hv_module *hv_module_named(const struct hv_modules *m, const char *name);

/* Returns a number that changes when a module is loaded, goes live or is removed. Cheaper than
 * reading the modules. */
struct hv_err *hv_modules_signature(const struct hv_kernel_core *core, uint64_t *ret) hv_must_use;
