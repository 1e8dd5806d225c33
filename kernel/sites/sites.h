/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function-entry sites of the kernel and its modules, from the kernel's own ftrace records. Order
 * and names match the guest's available_filter_functions (ascending addresses within a page, pages
 * in list order).
 *
 * In a kernel without ftrace a site is the first instruction of a function that a jump to a detour
 * can replace; kernel/entries.h finds these. */
#pragma once

#include "arch/detour.h"
#include "kernel/core/core.h"
#include "kernel/sites/modules.h"

struct hv_site {
	/* Start of the site, which can differ from the address in the record. Traces resolve it to
	 * the function's name. */
	struct hv_gva ip;
	const char
		*name; /* owned by the table; "__ftrace_invalid_address___N" like in the kernel */
	const char *module; /* NULL: vmlinux; owned by the table */
	bool invalid;	    /* disabled by the kernel: listed, never traced */
	bool busy; /* the guest's ftrace, a kprobe or a livepatch used it when it was read */
};

/* The instructions of a site in a kernel without ftrace. */
struct hv_function_entry {
	uint8_t len_bytes; /* total */
	uint8_t nr;
	uint8_t insns[HV_DETOUR_INSN_MAX];
};

#define HV_ENTRY_REASONS_MAX 32

/* The functions of a kernel without ftrace. */
struct hv_function_entries {
	struct hv_function_entry *list; /* owned; one per site */
	size_t nr_functions;		/* with those that cannot be traced */
	struct {
		const char *why; /* static */
		size_t nr;	 /* functions that cannot be traced for this reason */
	} reasons[HV_ENTRY_REASONS_MAX];
	size_t nr_reasons;
};

struct hv_sites {
	struct hv_site *list; /* owned */
	size_t nr;
	size_t nr_invalid; /* sites with `invalid` */
	char *names;	   /* owned */
	/* Hash chains for hv_sites_named(): indices + 1, ascending, 0 at the end. Owned; NULL in a
	 * table that was not read. */
	uint32_t *chain_heads;
	uint32_t *chain_next;
	struct hv_function_entries *entries; /* owned; NULL: the sites are ftrace's */
};

/* Returns whether the kernel lists functions without a name. Searches the copy of the image unless
 * CORE has the result. */
enum hv_invalid_sites hv_sites_lists_invalid(const struct hv_kernel_core *core);
/* Returns whether the kernel has ftrace, whose records contain the sites. */
bool hv_sites_have_records(const struct hv_kernel_core *core);
/* Prepares S for hv_sites_named(), after its list was filled. */
void hv_sites_index(struct hv_sites *s);

/* Reads all sites except those in EXCLUDED. */
struct hv_err *hv_sites_read(const struct hv_kernel_core *core, const struct hv_modules *modules,
			     struct hv_gva_range excluded, struct hv_sites *ret) hv_must_use;
/* Updates `busy` of all sites. Changes nothing on error. */
struct hv_err *hv_sites_read_busy(const struct hv_kernel_core *core,
				  struct hv_sites *s) hv_must_use;
/* Removes the sites in TEXT. */
void hv_sites_leave_out(struct hv_sites *s, struct hv_gva_range text);
/* Returns the index of the first site named NAME, starting at FROM, or SIZE_MAX. Fast if FROM is 0
 * or site FROM - 1 has the same name. */
size_t hv_sites_named(const struct hv_sites *s, const char *name, size_t from);
enum hv_site_name {
	HV_SITE_NAME_EXACT,
	HV_SITE_NAME_OR_CLONE, /* or a compiler-generated copy of the function
				  (finish_task_switch.isra.0), whose arguments may differ */
};
/* Returns the index of the core kernel's function NAME, or SIZE_MAX if no valid site has that
 * name. */
size_t hv_sites_find(const struct hv_sites *s, const char *name, enum hv_site_name how);
/* Returns whether START can only be ftrace_pages_start, which leads to the records of all
 * functions. For kernels without a symbol for it; needs BTF. */
bool hv_sites_are_at(const struct hv_kernel_core *core, struct hv_gva start);
void hv_sites_deinit(struct hv_sites *s);
