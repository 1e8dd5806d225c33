/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What KVM and the CPU do on arm64 hosts: the size of guest-physical addresses, and caches. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>

#include "vmm/inject/icache.h"
#include "vmm/inject/inject.h"
#include "vmm/inject/kvm.h"

/* -- the size of guest-physical addresses ------------------------------------------------------ */

/* The size of guest-physical addresses on arm64. The VMM chooses it when it creates the virtual
 * machine, and no interface reports it later. QEMU's machine virt chooses the size that its memory
 * map needs, at least 32 bits (virt_kvm_type() in hw/arm/virt.c): usually 40, because the map ends
 * with a 512 GiB window for PCI; fewer without the window (highmem=off), more with much RAM or
 * maxmem. The default for VMMs that do not choose is 40. So this returns 40, or the host's size if
 * that is smaller. If it is too large, KVM rejects the region's address, and the caller tries
 * smaller sizes. */

#define BITS_DEFAULT 40 /* Documentation/virt/kvm/api.rst, KVM_CREATE_VM */
#define HCR_EL2	     ARM64_SYS_REG(3, 4, 1, 1, 0)

static unsigned host_bits(void)
{
	HV_AUTO_FD int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int bits = fd < 0 ? 0 : ioctl(fd, KVM_CHECK_EXTENSION, KVM_CAP_ARM_VM_IPA_SIZE);

	return bits > 0 && bits < BITS_DEFAULT ? (unsigned)bits : BITS_DEFAULT;
}

/* Rejects a guest that has EL2. Only such a guest has HCR_EL2. Its EL1 registers do not show which
 * of its kernels a vCPU executes, and on which stack. */
static struct hv_err *check_el2(const struct hv_kvm *k, struct hv_keeper *keeper)
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

struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *keeper, unsigned *ret)
{
	struct hv_err *err = check_el2(k, keeper);

	if (!err)
		*ret = host_bits();
	return err;
}

/* -- caches ------------------------------------------------------------------------------------ */

/* CTR_EL0, which the kernel makes equal on all CPUs: fetches see writes without cleaning the data
 * cache (IDC) and without invalidating the instruction cache (DIC). */
#define CTR_IDC (1ull << 28)
#define CTR_DIC (1ull << 29)

bool hv_icache_is_coherent(void)
{
	uint64_t ctr;

	__asm__("mrs %0, ctr_el0" : "=r"(ctr));
	return ctr & CTR_IDC && ctr & CTR_DIC;
}
