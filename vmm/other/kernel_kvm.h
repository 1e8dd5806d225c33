/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host's kernel knows about a KVM machine: its memory slots, and the threads that run its
 * vCPUs. The kernel's memory is read by the types in its BTF. The VMM can neither see nor change
 * these answers. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/addr.h"
#include "base/err.h"

#define HV_KERNEL_SLOTS_MAX 1024

struct hv_kernel_slot {
	struct hv_gpa start;
	uint64_t len_bytes;
	uint64_t hva;	/* in the VMM */
	uint32_t flags; /* KVM_MEM_... */
};

struct hv_kernel_kvm;

/* VM_FD is a descriptor of process PID for a KVM machine. Fails with ENOTSUP if this host's kernel
 * does not show its memory or its types, or hvtrace is in another pid namespace than the host's
 * first, or ESRCH if there is no such process or machine. */
struct hv_err *hv_kernel_kvm_open(pid_t pid, int vm_fd, struct hv_kernel_kvm **ret) hv_must_use;
void hv_kernel_kvm_free(struct hv_kernel_kvm *k);

/* The process must not have ended. Returns at most HV_KERNEL_SLOTS_MAX slots, ascending by START.
 * Fails with E2BIG if there are more, or EAGAIN if they change all the time. */
struct hv_err *hv_kernel_kvm_slots(const struct hv_kernel_kvm *k, struct hv_kernel_slot *ret,
				   size_t *ret_nr) hv_must_use;
/* Finds the thread that runs the vCPU with descriptor VCPU_FD. Fails with ESRCH if no thread has run
 * it, or it is no vCPU of this machine. */
struct hv_err *hv_kernel_kvm_thread(const struct hv_kernel_kvm *k, int vcpu_fd,
				    pid_t *ret) hv_must_use;
