/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/events/common_key.h"

#include "kernel/kernel.h"

/* Up to 6.15 (arch/x86/kernel/tracepoint.c); later kernels treat both like other tracepoints. */
struct hv_err *hv_common_key_find(const struct hv_kernel *k, struct hv_common_key *ret)
{
	struct hv_common_key c = {0};
	const struct {
		const char *name;
		struct hv_gva *at;
	} symbols[] = {
		{"trace_pagefault_reg", &c.reg},
		{"trace_pagefault_unreg", &c.unreg},
		{"trace_pagefault_key", &c.key},
		{"__tracepoint_page_fault_user", &c.tracepoints[0]},
		{"__tracepoint_page_fault_kernel", &c.tracepoints[1]},
	};
	struct hv_err *err = NULL;

	for (size_t i = 0; !err && i < HV_ARRAY_LEN(symbols); i++)
		err = hv_core_need(&k->core, symbols[i].name, symbols[i].at);
	if (!err)
		*ret = c;
	return err;
}
