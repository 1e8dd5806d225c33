/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kprobes that the guest itself has registered.
 *
 * A kprobe saves the original instruction at registration. While the probe is disabled, or before
 * the kernel arms or disarms it, the text does not show it. Code that replaces whole instructions
 * therefore checks this list. Kprobes on ftrace sites are not included, because the guest's ftrace
 * calls them. Everything read here is untrusted. Source: kernel/kprobes.c. */
#pragma once

#include "kernel/core/core.h"

struct hv_own_kprobes_layout {
	bool exists; /* false: the kernel has no kprobes */
	struct hv_gva table;
	struct hv_gva
		lock; /* address of the word that is 0 while no task registers or removes kprobes */
	uint32_t next, addr, flags; /* offsets in struct kprobe */
	uint32_t len_bytes;
};

/* Fails with ENOENT if the kernel has kprobes but their layout is unknown. */
struct hv_err *hv_own_kprobes_find(const struct hv_kernel_core *core,
				   struct hv_own_kprobes_layout *ret) hv_must_use;

struct hv_own_kprobes {
	struct hv_gva *list; /* owned; addresses, sorted */
	size_t nr;
	bool are_locked; /* a task is registering, removing or changing kprobes: a kprobe that has
			    already saved its instruction may not be on the list yet */
};

/* In a hold, the result stays valid until the hold ends. */
struct hv_err *hv_own_kprobes_read(const struct hv_address_space *as,
				   const struct hv_own_kprobes_layout *layout,
				   struct hv_own_kprobes *ret) hv_must_use;
void hv_own_kprobes_deinit(struct hv_own_kprobes *p);

/* Returns whether RANGE contains a kprobe. */
bool hv_own_kprobes_any(const struct hv_own_kprobes *p, struct hv_gva_range range);
