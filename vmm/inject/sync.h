/* Registers without a call: KVM leaves them in the vCPU's page, which the VMM has mapped, each time
 * KVM_RUN returns, when kvm_valid_regs in it asks for them (Documentation/virt/kvm/api.rst, sync
 * regs). It is asked just before the vCPU threads are stopped, and not for longer: should we die in
 * between, each later return of KVM_RUN takes a microsecond more.
 * Leaves to others: stopping; vCPUs whose thread was not in KVM_RUN (kvm.h). */
#pragma once

#include "vmm/inject/kvm.h"

struct hv_sync {
	pid_t pid;
	uint64_t *page_hvas; /* by vCPU, owned; NULL: this KVM does not do it */
	unsigned nr_vcpus;
};

/* What cannot be had is left out: then no vCPU's registers are ever there. */
void hv_sync_init(struct hv_sync *s, const struct hv_kvm *k);
void hv_sync_deinit(struct hv_sync *s);

/* Before the stop. */
void hv_sync_ask(const struct hv_sync *s);
/* After it, always: nothing is asked any more. ALL_IN_RUN: every vCPU thread stands in KVM_RUN.
 * True: RET has every vCPU's registers. */
bool hv_sync_take(const struct hv_sync *s, const struct hv_arch *arch, bool all_in_run,
		  struct hv_vcpu_regs *ret);
