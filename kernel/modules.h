/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loaded modules: names, text bounds, symbols, as the kernel's own list has them now. */
#pragma once

#include "kernel/core.h"

struct hv_module {
	char name[64];	  /* hostile, NUL-terminated */
	struct hv_gva at; /* its struct module */
	struct hv_gva_range text;
	/* x86: its ORC tables (orc.h); 0: it has none */
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
/* Whether what is at HEAD can be the list of modules: each entry is a module that says so itself
 * and leads back, to HEAD in the end. An empty list has no more than that to show. For a kernel
 * that does not name it. */
bool hv_modules_are_at(const struct hv_kernel_core *core, struct hv_gva head);
void hv_modules_deinit(struct hv_modules *m);
/* NULL: ADDR is in no module's text. */
const struct hv_module *hv_module_at(const struct hv_modules *m, struct hv_gva addr);

/* NULL: there is none. */
const struct hv_module *hv_module_named(const struct hv_modules *m, const char *name);

/* A number that changes when modules come, begin to live, or have gone. It is cheaper than reading
 * them. */
struct hv_err *hv_modules_signature(const struct hv_kernel_core *core, uint64_t *ret) hv_must_use;
