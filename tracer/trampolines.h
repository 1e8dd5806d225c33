/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's own return trampolines: the addresses that its return probes and its own
 * function_graph put on stacks in place of return addresses, which they keep elsewhere. If a
 * trampoline came after our frame (a traced function jumped to a probed one), it keeps our
 * handler's address where nobody sees it. */
#pragma once

#include "kernel/kernel.h"

struct hv_trampoline {
	const char *symbol;
	struct hv_gva_range code;
};

struct hv_trampolines {
	struct hv_trampoline list[4];
	unsigned nr;
};

void hv_trampolines_find(const struct hv_kernel *k, struct hv_trampolines *ret);

/* Returns the trampoline to which a function with return address ADDRESS returns; NULL: none. */
const struct hv_trampoline *hv_trampolines_entry(const struct hv_trampolines *t, uint64_t address);
/* Returns the trampoline whose code ADDRESS is in, except its first byte: code that returns there
 * is just being given the original address. NULL: none. */
const struct hv_trampoline *hv_trampolines_inside(const struct hv_trampolines *t, uint64_t address);
