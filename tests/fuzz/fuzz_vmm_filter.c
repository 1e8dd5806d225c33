/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Drives the evaluation of seccomp filters (vmm/inject/filter.c) with hostile programs. The input
 * is a byte that marks unknown arguments, a call, and the program. It must end, and a definite
 * result must not depend on unknown arguments. */
#include <stdlib.h>
#include <string.h>

#include "vmm/inject/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hv_filter_call call = {0};
	struct sock_filter *insns;
	size_t nr, head = 1 + sizeof(call.data);
	uint32_t action = 0, other = 0;
	bool is_definite;

	if (size < head)
		return 0;
	call.unknown_args = data[0];
	memcpy(&call.data, data + 1, sizeof(call.data));
	nr = (size - head) / sizeof(*insns);
	insns = malloc(nr * sizeof(*insns) + 1);
	memcpy(insns, data + head, nr * sizeof(*insns));
	is_definite = hv_filter_decide(&(struct hv_filter){insns, nr}, &call, &action);
	for (unsigned i = 0; i < 6; i++)
		if (call.unknown_args >> i & 1)
			call.data.args[i] = ~call.data.args[i] * 0x9e3779b97f4a7c15ull;
	check(hv_filter_decide(&(struct hv_filter){insns, nr}, &call, &other) == is_definite);
	check(!is_definite || action == other);
	check(strlen(hv_filter_action_name(action)) > 0);
	free(insns);
	return 0;
}
