/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Function-entry sites, those of modules included, from the kernel's own ftrace records. They have
 * the order of its available_filter_functions (ascending addresses within a page, pages in the
 * order of their list) and the names that this file shows. */
#pragma once

#include "kernel/core.h"
#include "kernel/modules.h"

struct hv_site {
	/* Where it begins, which need not be what the record has; a trace resolves it to the
	 * function's name */
	struct hv_gva ip;
	const char *
		name; /* owned by the table; "__ftrace_invalid_address___N" as the kernel says it */
	const char *module; /* NULL: vmlinux; owned by the table */
	bool invalid;	    /* the kernel itself disabled it: shown, never traced */
	bool busy; /* the guest's own ftrace, a kprobe or a livepatch used it when that was read */
};

struct hv_sites {
	struct hv_site *list; /* owned */
	size_t nr;
	char *names; /* owned */
	/* Sites by name, for hv_sites_named(): chains of indices + 1, ascending, 0 at the end.
	 * Owned; NULL in a table that was not read. */
	uint32_t *chain_heads;
	uint32_t *chain_next;
};

/* How far behind its site's first byte a record says that the site is (record_off of struct
 * hv_arch). */
struct hv_err *hv_sites_record_off(const struct hv_kernel_core *core, unsigned *ret) hv_must_use;
/* Reads all sites but those in LEFT_OUT. */
struct hv_err *hv_sites_read(const struct hv_kernel_core *core, const struct hv_modules *modules,
			     struct hv_gva_range left_out, struct hv_sites *ret) hv_must_use;
/* Reads again which of the sites are busy. On error they are as before. */
struct hv_err *hv_sites_read_busy(const struct hv_kernel_core *core,
				  struct hv_sites *s) hv_must_use;
/* Removes the sites in TEXT. */
void hv_sites_leave_out(struct hv_sites *s, struct hv_gva_range text);
/* The first site from index FROM on whose name is NAME; SIZE_MAX: there is none. Quick when FROM is
 * 0, or the site before it has the same name. */
size_t hv_sites_named(const struct hv_sites *s, const char *name, size_t from);
enum hv_site_name {
	HV_SITE_NAME_EXACT,
	HV_SITE_NAME_OR_CLONE, /* also a copy that the compiler made of the function
				* (finish_task_switch.isra.0), whose arguments may differ */
};
/* Returns the index of the core kernel's function NAME; SIZE_MAX: there is none that is valid. */
size_t hv_sites_find(const struct hv_sites *s, const char *name, enum hv_site_name how);
/* Whether what is at START can only be ftrace_pages_start, which leads to the records of all
 * functions. For a kernel that does not name it; needs BTF. */
bool hv_sites_are_at(const struct hv_kernel_core *core, struct hv_gva start);
void hv_sites_deinit(struct hv_sites *s);
