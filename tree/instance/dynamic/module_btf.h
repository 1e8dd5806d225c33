/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BTF of a function's module, for names in one probe definition (tree/settings/kprobe.h). Read
 * from the guest when the definition needs it, and freed with it. */
#pragma once

#include "kernel/kernel.h"
#include "tree/settings/kprobe.h"

struct hv_module_btf {
	const struct hv_kernel *kernel; /* borrowed */
	struct hv_btf *btf;		/* owned; NULL: not needed, or the module has no BTF */
};

/* Implements module_btf of struct hv_kprobe_kernel; M is a struct hv_module_btf. */
const struct hv_btf *hv_module_btf_find(void *m, const char *function);
/* Implements has_function. */
bool hv_module_btf_has_function(void *m, const char *function);
/* Implement entry_at and entry_behind. */
bool hv_module_btf_entry_at(void *m, uint64_t address, struct hv_kprobe_entry *ret);
bool hv_module_btf_entry_behind(void *m, const char *function, uint64_t off,
				struct hv_kprobe_entry *ret);
/* Returns whether SITE belongs to FUNCTION, which may be MODULE:FUNCTION. */
bool hv_site_is_named(const struct hv_site *site, const char *function);
void hv_module_btf_deinit(struct hv_module_btf *m);
