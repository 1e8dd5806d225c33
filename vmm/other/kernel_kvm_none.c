/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A build without libbpf cannot find out what the host's kernel knows about KVM machines. */
#include "vmm/other/kernel_kvm.h"

#include "base/guard.h"

static struct hv_err *not_built(void)
{
	return hv_err_new(ENOTSUP, "memory slots of a VMM without a monitor: built without libbpf");
}

struct hv_err *hv_kernel_kvm_open(pid_t pid hv_unused, int vm_fd hv_unused,
				  struct hv_kernel_kvm **ret hv_unused)
{
	return not_built();
}

void hv_kernel_kvm_free(struct hv_kernel_kvm *k hv_unused)
{
}

struct hv_err *hv_kernel_kvm_slots(const struct hv_kernel_kvm *k hv_unused,
				   struct hv_kernel_slot *ret hv_unused, size_t *ret_nr hv_unused)
{
	return not_built();
}

struct hv_err *hv_kernel_kvm_thread(const struct hv_kernel_kvm *k hv_unused, int vcpu_fd hv_unused,
				    pid_t *ret hv_unused)
{
	return not_built();
}
