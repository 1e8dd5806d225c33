/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kernel/code/nofault.h"

#include "kernel/kernel.h"

/* A site is the first instruction of its function or follows an endbr64. */
#define BEFORE_SITE_MAX 4

static const char *const names[] = {
	[HV_NOFAULT_COPY_KERNEL] = "copy_from_kernel_nofault",
	[HV_NOFAULT_COPY_USER] = "copy_from_user_nofault",
	[HV_NOFAULT_STRING_KERNEL] = "strncpy_from_kernel_nofault",
	[HV_NOFAULT_STRING_USER] = "strncpy_from_user_nofault",
};

const char *hv_nofault_name(enum hv_nofault function)
{
	return names[function];
}

struct hv_gva hv_nofault_address(const struct hv_kernel *k, enum hv_nofault function)
{
	struct hv_gva at = {0};

	if (!hv_kernel_symbol(k, names[function], &at))
		return hv_gva(0);
	if (k->sites.entries) /* a kernel without ftrace */
		return at;
	for (size_t i = 0; i < k->sites.nr; i++) {
		uint64_t site = k->sites.list[i].ip.v;

		if (site >= at.v && site - at.v <= BEFORE_SITE_MAX)
			return hv_gva(site + k->core.as.arch->site_len_bytes);
	}
	return at;
}
