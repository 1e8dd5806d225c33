/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The guest's own return trampolines: addresses that its return probes and its function_graph put
 * on stacks in place of return addresses, which they store elsewhere. If a trampoline was installed
 * after our frame (a traced function jumped to a probed one), its stored return address is our
 * handler's, and hvtrace cannot find it. */
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

/* Returns the trampoline to which a function with return address ADDRESS returns, or NULL. */
const struct hv_trampoline *hv_trampolines_entry(const struct hv_trampolines *t, uint64_t address);
/* Returns the trampoline whose code contains ADDRESS after its first byte, or NULL. A function that
 * returns there was called by the trampoline, to look up the original address. */
const struct hv_trampoline *hv_trampolines_inside(const struct hv_trampolines *t, uint64_t address);
