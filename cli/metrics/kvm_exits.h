/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of VM exits of a guest, which KVM always counts: the file "exits" in the VM's debugfs
 * directory. Only root can open it. Needs no tracing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define KVM_DEBUGFS "/sys/kernel/debug/kvm"

/* Opens the VM's directory, which only root can reach; the caller closes it. Returns -1 if the
 * process VMM has no VM in DEBUGFS or more than one, or if permission is denied. */
int kvm_exits_open(const char *debugfs, pid_t vmm);
/* Reads the counter. May be called repeatedly and needs no privileges. False: it cannot be read,
 * for example because the guest has ended. */
bool kvm_exits_read(int dir, uint64_t *ret);
