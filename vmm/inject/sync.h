/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads registers of vCPUs without injected calls. Each time KVM_RUN returns, KVM stores them in
 * the vCPU's page, which the VMM has mapped, if kvm_valid_regs in that page requests them
 * (Documentation/virt/kvm/api.rst, sync regs). They are requested immediately before the vCPU
 * threads are stopped, and cancelled afterwards. If this process dies in between, each return of
 * KVM_RUN takes a microsecond longer from then on. kvm.h handles vCPUs whose thread was not in
 * KVM_RUN. */
#pragma once

#include "vmm/inject/kvm.h"

struct hv_sync {
	pid_t pid;
	int fd;		     /* the VMM's memory, read-write; valid if page_hvas is set */
	uint64_t *page_hvas; /* by vCPU, owned; NULL: this KVM does not support it */
	unsigned nr_vcpus;
};

/* In a hold: whether a vCPU, *RET, is in system management mode. Then its registers and page tables
 * belong to the firmware, and those of the kernel, where it will continue, are unknown. */
bool hv_sync_is_in_smm(const struct hv_kvm *k, unsigned *ret);

/* PIDFD is K->pid's. On a KVM without sync regs, hv_sync_take() always returns false. */
void hv_sync_init(struct hv_sync *s, const struct hv_kvm *k, int pidfd);
void hv_sync_deinit(struct hv_sync *s);

/* Requests the registers; call this immediately before the stop. */
void hv_sync_ask(const struct hv_sync *s);
/* Cancels the request after a failed stop. */
void hv_sync_cancel(const struct hv_sync *s);
/* Cancels the request and reads the registers; call this in each hold. ALL_IN_RUN: every vCPU
 * thread is in KVM_RUN. Returns true if RET contains every vCPU's registers. */
bool hv_sync_take(const struct hv_sync *s, const struct hv_arch *arch, bool all_in_run,
		  struct hv_vcpu_regs *ret);
