/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the vCPUs' registers by injected calls: two calls per vCPU, or one call per register if KVM
 * supports nothing else (arm64). */
#include <linux/kvm.h>
#include <string.h>

#include "vmm/inject/kvm.h"

#define BATCH_VCPUS 8 /* vCPUs per batch of calls */

struct both_regs {
	struct kvm_regs regs;
	struct kvm_sregs sregs;
};

static struct hv_err *not_understood(unsigned vcpu)
{
	return hv_err_new(EPROTO, "inject: registers of vCPU %u are not understood", vcpu);
}

static struct hv_err *some_vcpus(const struct hv_kvm *k, struct hv_keeper *keeper,
				 const struct hv_arch *arch, unsigned first, unsigned nr,
				 struct hv_vcpu_regs *ret)
{
	struct both_regs data[BATCH_VCPUS];
	struct hv_call calls[2 * BATCH_VCPUS];
	struct hv_err *err;

	memset(data, 0, sizeof(data));
	for (unsigned i = 0; i < nr; i++) {
		uint64_t off = i * sizeof(data[0]);
		int fd = k->vcpu_fds[first + i];

		calls[2 * i] = hv_kvm_ioctl(fd, KVM_GET_REGS, off);
		calls[2 * i + 1] =
			hv_kvm_ioctl(fd, KVM_GET_SREGS, off + offsetof(struct both_regs, sregs));
	}
	err = hv_keeper_calls(keeper, calls, 2 * nr, data, nr * sizeof(data[0]));
	for (unsigned i = 0; !err && i < 2 * nr; i++)
		if (calls[i].result < 0)
			err = hv_kvm_failed(&calls[i], i % 2 ? "KVM_GET_SREGS" : "KVM_GET_REGS");
	for (unsigned i = 0; !err && i < nr; i++) {
		struct hv_span regs = {(const uint8_t *)&data[i].regs, sizeof(data[i].regs)};
		struct hv_span sregs = {(const uint8_t *)&data[i].sregs, sizeof(data[i].sregs)};

		if (!arch->decode_kvm_registers(regs, sregs, &ret[first + i]))
			err = not_understood(first + i);
	}
	return err;
}

/* Data of the calls for one vCPU. KVM writes each value to the address in `asked`. */
struct one_by_one {
	uint64_t values[HV_KEEPER_CALLS_MAX];
	struct kvm_one_reg asked[HV_KEEPER_CALLS_MAX];
};
_Static_assert(sizeof(struct one_by_one) <= HV_CALL_DATA_MAX, "it fits");

static struct hv_err *one_vcpu(const struct hv_kvm *k, struct hv_keeper *keeper,
			       const struct hv_arch *arch, unsigned vcpu, struct hv_vcpu_regs *ret)
{
	struct hv_call calls[HV_KEEPER_CALLS_MAX];
	struct one_by_one data = {0};
	struct hv_err *err;
	unsigned nr = 0;

	for (; nr < HV_KEEPER_CALLS_MAX && arch->kvm_ids[nr]; nr++) {
		uint64_t off = offsetof(struct one_by_one, asked) + nr * sizeof(data.asked[0]);

		data.asked[nr] = (struct kvm_one_reg){arch->kvm_ids[nr],
						      offsetof(struct one_by_one, values) +
							      nr * sizeof(data.values[0])};
		calls[nr] = hv_kvm_ioctl(k->vcpu_fds[vcpu], KVM_GET_ONE_REG, off);
		calls[nr].pointer_off = (uint32_t)(off + offsetof(struct kvm_one_reg, addr));
	}
	err = hv_keeper_calls(keeper, calls, nr, &data, sizeof(data));
	for (unsigned i = 0; !err && i < nr; i++)
		if (calls[i].result < 0)
			err = hv_kvm_failed(&calls[i], "KVM_GET_ONE_REG");
	if (!err && !arch->decode_kvm_registers((struct hv_span){(const uint8_t *)data.values,
								 nr * sizeof(data.values[0])},
						(struct hv_span){0}, ret))
		err = not_understood(vcpu);
	return err;
}

struct hv_err *hv_kvm_registers(const struct hv_kvm *k, struct hv_keeper *keeper,
				const struct hv_arch *arch, struct hv_vcpu_regs *ret)
{
	unsigned batch = arch->kvm_ids ? 1 : BATCH_VCPUS;
	struct hv_err *err = NULL;

	for (unsigned first = 0; !err && first < k->nr_vcpus; first += batch) {
		unsigned left = k->nr_vcpus - first;

		err = arch->kvm_ids ? one_vcpu(k, keeper, arch, first, &ret[first])
				    : some_vcpus(k, keeper, arch, first,
						 left < batch ? left : batch, ret);
	}
	return err;
}
