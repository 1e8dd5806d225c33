/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BTF of the module that has a function, for the names in one definition of a probe
 * (tree/settings/kprobe.h). It is read from the guest when the definition needs it, and forgotten
 * with that. */
#pragma once

#include "kernel/kernel.h"
#include "tree/settings/kprobe.h"

struct hv_module_btf {
	const struct hv_kernel *kernel; /* borrowed */
	struct hv_btf *btf;		/* owned; NULL: none was needed, or there is none */
};

/* As hv_kprobe_kernel's module_btf; M is a struct hv_module_btf. */
const struct hv_btf *hv_module_btf_find(void *m, const char *function);
/* As its has_function. */
bool hv_module_btf_has_function(void *m, const char *function);
/* As its entry_at and entry_behind. */
bool hv_module_btf_entry_at(void *m, uint64_t address, struct hv_kprobe_entry *ret);
bool hv_module_btf_entry_behind(void *m, const char *function, uint64_t off,
				struct hv_kprobe_entry *ret);
/* Whether SITE is that of FUNCTION, which may be MODULE:FUNCTION. */
bool hv_site_is_named(const struct hv_site *site, const char *function);
void hv_module_btf_deinit(struct hv_module_btf *m);
