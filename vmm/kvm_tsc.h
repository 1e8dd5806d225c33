/* How a KVM guest's time stamp counter follows the host's, as KVM tells in debugfs
 * (arch/x86/kvm/debugfs.c): guest = (host * ratio >> frac_bits) + offset, modulo 2^64. */
#pragma once

#include <sys/types.h>

#include "vmm/guest.h"

#define HV_KVM_DEBUGFS "/sys/kernel/debug/kvm"

/* ENOENT: nothing is told of this process's vCPU (no debugfs, not on this architecture). ENOTUNIQ:
 * it has more than one machine. */
struct hv_err *hv_kvm_tsc(const char *debugfs, pid_t pid, unsigned vcpu,
			  struct hv_tsc *ret) hv_must_use;
