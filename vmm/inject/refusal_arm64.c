/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "vmm/inject/refusal_arm64.h"

#include <linux/kvm.h>
#include <stddef.h>

#include "vmm/inject/inject.h"

/* Register sets (include/uapi/linux/elf.h: NT_ARM_ZA, NT_ARM_POE, NT_ARM_GCS) that older C
 * libraries do not define. */
#define SET_ZA	0x40c
#define SET_POE 0x40f
#define SET_GCS 0x410

/* ARM64_SYS_REG(3, 4, 1, 1, 0) of arch/arm64/include/uapi/asm/kvm.h. Only a guest with EL2 has this
 * register. */
#define HCR_EL2 (0x6030000000130000ULL | 3 << 14 | 4 << 11 | 1 << 7 | 1 << 3)

/* A frame without SME matrices disables them; one without permission overlays (POR_EL0) may set them
 * to any value; and a guarded control stack would lack its token. */
struct hv_err *hv_arm64_check_sets(const struct hv_thread *t, hv_get_set_fn get)
{
	struct {
		uint32_t size, max_size;
		uint16_t vl, max_vl, flags, reserved;
	} za = {0};
	uint64_t gcs[3] = {0}, poe;

	if (get(t, SET_ZA, &za, sizeof(za)) && za.size > sizeof(za))
		return hv_err_new(ENOTSUP,
				  "thread %d uses SME matrices, which an injected call would erase",
				  (int)t->tid);
	if (get(t, SET_POE, &poe, sizeof(poe)))
		return hv_err_new(ENOTSUP,
				  "thread %d has permission overlays (POE), which an injected call "
				  "would change",
				  (int)t->tid);
	if (get(t, SET_GCS, gcs, sizeof(gcs)) && gcs[0])
		return hv_err_new(
			ENOTSUP,
			"thread %d has a guarded control stack, so an injected call would "
			"kill it",
			(int)t->tid);
	return NULL;
}

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
