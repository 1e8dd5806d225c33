/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's own kprobes: where its kernel has set one, or is ready to. A kprobe keeps a copy of
 * the instruction that was at its address when it was registered. Later, while the probe is
 * switched off or the kernel waits to do it, no byte of the text tells of it. So whoever replaces
 * whole instructions looks here.
 * A kprobe at a site of ftrace is not among them: the kernel's ftrace calls it.
 * Everything is hostile. Source: kernel/kprobes.c. */
#pragma once

#include "kernel/core.h"

/* Where they are. */
struct hv_own_probes_layout {
	bool exists; /* false: the kernel has no kprobes, and there is nothing to read */
	struct hv_gva table;
	struct hv_gva lock; /* of the word that is 0 while nobody registers or removes kprobes */
	uint32_t next, addr, flags; /* of struct kprobe */
	uint32_t len_bytes;
};

/* ENOENT: the kernel has kprobes, but not where they are expected. */
struct hv_err *hv_own_probes_find(const struct hv_kernel_core *core,
				  struct hv_own_probes_layout *ret) hv_must_use;

struct hv_own_probes {
	struct hv_gva *list; /* owned; their addresses, in order */
	size_t nr;
	bool are_locked; /* somebody registers, removes or changes kprobes just now: one that has
			  * copied its instruction may not be in the list yet */
};

/* In a hold, this is what the guest has until the hold ends. */
struct hv_err *hv_own_probes_read(const struct hv_address_space *as,
				  const struct hv_own_probes_layout *layout,
				  struct hv_own_probes *ret) hv_must_use;
void hv_own_probes_deinit(struct hv_own_probes *p);

/* Whether one is in RANGE. */
bool hv_own_probes_any(const struct hv_own_probes *p, struct hv_gva_range range);
