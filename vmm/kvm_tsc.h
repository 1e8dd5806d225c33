/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The relation between a KVM guest's time stamp counter and the host's, read from KVM's files in
 * debugfs (arch/x86/kvm/debugfs.c): guest = (host * ratio >> frac_bits) + offset, modulo 2^64. */
#pragma once

#include <sys/types.h>

#include "vmm/guest.h"

#define HV_KVM_DEBUGFS "/sys/kernel/debug/kvm"

/* Reads it for vCPU VCPU of process PID. Fails with ENOENT if there are no such files (no debugfs,
 * or another architecture), or ENOTUNIQ if the process has more than one virtual machine. */
struct hv_err *hv_kvm_tsc(const char *debugfs, pid_t pid, unsigned vcpu,
			  struct hv_tsc *ret) hv_must_use;
