/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/el2_arm64.h"

#include <linux/kvm.h>
#include <stddef.h>

#include "vmm/inject/inject.h"

/* ARM64_SYS_REG(3, 4, 1, 1, 0) of arch/arm64/include/uapi/asm/kvm.h. Only a guest with EL2 has this
 * register. */
#define HCR_EL2 (0x6030000000130000ULL | 3 << 14 | 4 << 11 | 1 << 7 | 1 << 3)

struct hv_err *hv_arm64_check_el2(const struct hv_kvm *k, struct hv_keeper *keeper)
{
	struct {
		uint64_t value;
		struct kvm_one_reg asked;
	} data = {.asked = {.id = HCR_EL2}};
	uint64_t off = offsetof(__typeof__(data), asked);
	struct hv_call call = hv_kvm_ioctl(k->vcpu_fds[0], KVM_GET_ONE_REG, off);
	struct hv_err *err;

	call.pointer_off = (uint32_t)(off + offsetof(struct kvm_one_reg, addr));
	err = hv_keeper_calls(keeper, &call, 1, &data, sizeof(data));
	if (err)
		return err;
	if (call.result == 0)
		return hv_inject_not_possible(
			hv_err_new(ENOTSUP, "injection does not support a guest that has EL2 "
					    "(nested virtualization)"));
	return call.result == -ENOENT ? NULL : hv_kvm_failed(&call, "KVM_GET_ONE_REG");
}
