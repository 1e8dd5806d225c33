/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What KVM and the CPU do on arm64 hosts: the size of guest-physical addresses, and caches. */
#include <fcntl.h>
#include <linux/kvm.h>
#include <sys/ioctl.h>

#include "vmm/inject/el2_arm64.h"
#include "vmm/inject/icache.h"
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

static unsigned host_bits(void)
{
	HV_AUTO_FD int fd = open("/dev/kvm", O_RDWR | O_CLOEXEC);
	int bits = fd < 0 ? 0 : ioctl(fd, KVM_CHECK_EXTENSION, KVM_CAP_ARM_VM_IPA_SIZE);

	return bits > 0 && bits < BITS_DEFAULT ? (unsigned)bits : BITS_DEFAULT;
}

struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *keeper, unsigned *ret)
{
	struct hv_err *err = hv_arm64_check_el2(k, keeper);

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
