/* The guest's own return trampolines: what its return probes and its own function_graph put on
 * stacks in place of return addresses, which they keep elsewhere. One that came after our frame (a
 * traced function jumped to a probed one) keeps our handler's address where nobody sees it. */
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

/* The one that a function returns to when its return address is ADDRESS; NULL: none. */
const struct hv_trampoline *hv_trampolines_entry(const struct hv_trampolines *t, uint64_t address);
/* The one whose code ADDRESS is in, its first byte not: whoever returns there is being told the
 * address that was kept. NULL: none. */
const struct hv_trampoline *hv_trampolines_inside(const struct hv_trampolines *t, uint64_t address);
