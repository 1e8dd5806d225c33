/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loaded modules, from the kernel's current list: names, text bounds, symbols, use counts and
 * BTF. */
#pragma once

#include "kernel/core/core.h"

struct hv_module {
	char name[64];	  /* untrusted, NUL-terminated */
	struct hv_gva at; /* address of its struct module */
	struct hv_gva_range text;
	/* x86: ORC tables (unwind.h); 0: none */
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
/* Returns whether the kernel has loaded no module. Needs no types. */
bool hv_modules_are_none(const struct hv_kernel_core *core);
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

/* Finds the symbol that contains an address, in the core kernel or a module, like the kernel's
 * kallsyms_lookup(). Private to kernel/; other folders use hv_kernel_symbol_at().
 *
 * Returns false if no symbol contains the address. *RET_MODULE is NULL for the core kernel. */
bool hv_kallsyms_lookup(const struct hv_kernel_core *core, const struct hv_modules *modules,
			struct hv_gva addr, const char **ret_name, const char **ret_module,
			uint64_t *ret_off);
/* Returns the distance from the symbol that contains ADDR to the next symbol (get_symbol_pos), or 0
 * if no symbol contains it. */
uint64_t hv_kallsyms_lookup_size(const struct hv_kernel_core *core,
				 const struct hv_modules *modules, struct hv_gva addr);

/* The use count of a module, which prevents its removal (try_module_get() and try_stop_module() in
 * kernel/module/). Read from live, untrusted guest memory. tracer/tracepoints/module_claims.h
 * changes the count. */
struct hv_module_use {
	bool can_go; /* false: this kernel cannot remove modules, and the other fields are unset */
	uint32_t state,
		live;  /* offset of the state in struct module, and its value in a live module */
	uint32_t node; /* offset of its struct list_head */
	uint32_t next, prev; /* offsets in the list_head */
	uint32_t count;	     /* offset of the count; 1: unused, 0: being removed */
};

/* Fails with ENOENT if the layout of the kernel's modules is unknown. */
struct hv_err *hv_module_use_find(const struct hv_kernel_core *core,
				  struct hv_module_use *ret) hv_must_use;

struct hv_err *hv_module_use_read(const struct hv_kernel_core *core, const struct hv_module_use *u,
				  struct hv_gva module, uint32_t *ret) hv_must_use;

/* Sets *RET to whether the struct module at MODULE is on the kernel's list and live. In a hold, a
 * live module with a nonzero count is not being removed. */
struct hv_err *hv_module_is_live(const struct hv_kernel_core *core, const struct hv_module_use *u,
				 struct hv_gva module, bool *ret) hv_must_use;

/* The BTF of a loaded module, from the kernel's copy (since 5.11, CONFIG_DEBUG_INFO_BTF_MODULES).
 * The copy exists only as long as the module, so it is read when it is needed. Its contents are
 * untrusted.
 *
 * MODULE is the address of its struct module. The caller owns *RET, which borrows core->btf. *RET
 * is NULL if the kernel has no BTF for this module. Fails if the BTF cannot be read or does not
 * belong to the kernel's BTF. */
struct hv_err *hv_btf_of_module(const struct hv_kernel_core *core, struct hv_gva module,
				struct hv_btf **ret) hv_must_use;
