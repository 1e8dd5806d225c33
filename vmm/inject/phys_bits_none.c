/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For hosts on which injection creates no region. */
#include "vmm/inject/kvm.h"

struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *keeper, unsigned *ret)
{
	(void)k, (void)keeper, (void)ret;
	return hv_err_new(ENOTSUP, "injection does not support this host's architecture");
}
