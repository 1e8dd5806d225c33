/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For hosts where KVM does not store registers in a vCPU's page. */
#include "vmm/inject/kvm.h"

void hv_sync_init(struct hv_sync *s, const struct hv_kvm *k, int pidfd hv_unused)
{
	*s = (struct hv_sync){.pid = k->pid};
}

void hv_sync_deinit(struct hv_sync *s)
{
	(void)s;
}

void hv_sync_ask(const struct hv_sync *s)
{
	(void)s;
}

void hv_sync_cancel(const struct hv_sync *s)
{
	(void)s;
}

bool hv_sync_take(const struct hv_sync *s, const struct hv_arch *arch, enum hv_vcpus_are vcpus,
		  struct hv_vcpu_regs *ret)
{
	(void)s, (void)arch, (void)vcpus, (void)ret;
	return false;
}

bool hv_sync_is_in_smm(const struct hv_kvm *k, unsigned *ret)
{
	(void)k;
	(void)ret;
	return false;
}
