/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A KVM VMM without a monitor that hvtrace knows: Firecracker, cloud-hypervisor, crosvm, a QEMU
 * without a QMP socket. What it is made of comes from the host's kernel: memory slots and vCPU
 * threads (kernel_kvm.h), files and mappings. Nothing is asked of the VMM. */
#pragma once

#include <sys/types.h>

#include "vmm/inject/inject.h"

struct hv_other;

/* NAME is the user's name for it. Fails with ENOENT if process PID has no KVM machine, or ENOTUNIQ
 * if it has several. */
struct hv_err *hv_other_open(pid_t pid, const char *name, struct hv_other **ret) hv_must_use;
void hv_other_free(struct hv_other *o);
/* Returns the VMM of a guest that is accessed by injection. O is borrowed, until free() of the VMM
 * takes it. */
struct hv_vmm hv_other_vmm(struct hv_other *o);
