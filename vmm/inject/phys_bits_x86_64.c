/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The size of guest-physical addresses on x86-64: the guest's limit from its CPUID, the host's from
 * /proc/cpuinfo. */
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>

#include "vmm/inject/kvm.h"

#define CPUID_ENTRIES	200
#define CPUID_ADDRESSES 0x80000008u
#define BITS_DEFAULT	36 /* for a CPU without CPUID_ADDRESSES */

/* "address sizes	: 48 bits physical, 48 bits virtual" */
static unsigned host_phys_bits(void)
{
	HV_AUTO_FREE char *line = NULL;
	FILE *f = fopen("/proc/cpuinfo", "re");
	unsigned bits = 0;
	size_t cap = 0;

	while (f && !bits && getline(&line, &cap, f) > 0)
		if (sscanf(line, "address sizes : %u bits physical", &bits) != 1)
			bits = 0;
	if (f)
		fclose(f);
	return bits;
}

struct hv_err *hv_kvm_phys_bits(const struct hv_kvm *k, struct hv_keeper *keeper, unsigned *ret)
{
	struct { /* struct kvm_cpuid2 with its entries */
		uint32_t nent;
		uint32_t padding;
		struct kvm_cpuid_entry2 entries[CPUID_ENTRIES];
	} data;
	_Static_assert(sizeof(data) <= HV_CALL_DATA_MAX, "the answer fits");
	_Static_assert(__builtin_offsetof(__typeof__(data), entries) ==
			       __builtin_offsetof(struct kvm_cpuid2, entries),
		       "as KVM has it");
	struct hv_call call = hv_kvm_ioctl(k->vcpu_fds[0], KVM_GET_CPUID2, 0);
	unsigned host = host_phys_bits(), bits = 0;
	struct hv_err *err;

	memset(&data, 0, sizeof(data));
	data.nent = CPUID_ENTRIES;
	err = hv_keeper_calls(keeper, &call, 1, &data, sizeof(data));
	if (err)
		return err;
	if (call.result < 0)
		return hv_kvm_failed(&call, "KVM_GET_CPUID2");
	for (unsigned i = 0; i < data.nent && i < CPUID_ENTRIES; i++)
		if (data.entries[i].function == CPUID_ADDRESSES)
			bits = data.entries[i].eax & 0xff;
	if (!bits)
		bits = BITS_DEFAULT;
	*ret = host && host < bits ? host : bits;
	return NULL;
}
