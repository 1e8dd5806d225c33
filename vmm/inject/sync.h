/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Registers of vCPUs without injected calls. Each time KVM_RUN returns, KVM stores them in the
 * vCPU's page, which the VMM has mapped, if kvm_valid_regs in that page asks for them
 * (Documentation/virt/kvm/api.rst, sync regs). They are asked for just before the vCPU threads are
 * stopped, and no longer after that. If this process dies in between, each return of KVM_RUN costs
 * a microsecond more from then on. Leaves to others: stopping the guest, vCPUs whose thread was not
 * in KVM_RUN (kvm.h). */
#pragma once

#include "vmm/inject/kvm.h"

struct hv_sync {
	pid_t pid;
	int fd;		     /* the VMM's memory, for reading and writing; if PAGE_HVAS is there */
	uint64_t *page_hvas; /* by vCPU, owned; NULL: this KVM does not support it */
	unsigned nr_vcpus;
};

/* Under a hold: whether a vCPU is in system management mode, which one of them is *RET. Its
 * registers and page tables are those of the firmware then, and those of the kernel, where it will
 * go on, are not known. */
bool hv_sync_is_in_smm(const struct hv_kvm *k, unsigned *ret);

/* PIDFD is K->pid's. On a KVM without sync regs, hv_sync_take() always returns false. */
void hv_sync_init(struct hv_sync *s, const struct hv_kvm *k, int pidfd);
void hv_sync_deinit(struct hv_sync *s);

/* Asks for the registers; to be called right before the stop. */
void hv_sync_ask(const struct hv_sync *s);
/* Stops asking, when the stop has failed. */
void hv_sync_cancel(const struct hv_sync *s);
/* Stops asking, and reads the registers; to be called under each hold. ALL_IN_RUN: every vCPU
 * thread is in KVM_RUN. True: RET has every vCPU's registers. */
bool hv_sync_take(const struct hv_sync *s, const struct hv_arch *arch, bool all_in_run,
		  struct hv_vcpu_regs *ret);
