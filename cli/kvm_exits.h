/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many exits the vCPUs of a guest had, as KVM counts them all the time: the file "exits" of the
 * machine in KVM's directory of debugfs, which only root can open. Needs no tracing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define KVM_DEBUGFS "/sys/kernel/debug/kvm"

/* Returns an fd that the caller closes: the machine's directory, which only root can reach. -1: the
 * process VMM has no virtual machine in DEBUGFS, or more than one, or the caller may not look. */
int kvm_exits_open(const char *debugfs, pid_t vmm);
/* Reads the number, as often as one likes; rights are not needed any more. False: it cannot be
 * read, as when the guest has ended. */
bool kvm_exits_read(int dir, uint64_t *ret);
