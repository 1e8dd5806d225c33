/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters that the host keeps for a guest without tracing. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* -- VM exits --------------------------------------------------------------------------------- */

/* The number of VM exits of a guest, which KVM always counts: the file "exits" in the VM's debugfs
 * directory. Only root can open it. Needs no tracing. */

#define KVM_DEBUGFS "/sys/kernel/debug/kvm"

/* Opens the VM's directory, which only root can reach; the caller closes it. Returns -1 if the
 * process VMM has no VM in DEBUGFS or more than one, or if permission is denied. */
int kvm_exits_open(const char *debugfs, pid_t vmm);
/* Reads the counter. May be called repeatedly and needs no privileges. False: it cannot be read,
 * for example because the guest has ended. */
bool kvm_exits_read(int dir, uint64_t *ret);

/* -- time of vCPUs ---------------------------------------------------------------------------- */

/* How long the host ran a guest's vCPUs and how long it let them wait, from the scheduler's
 * counters of the VMM's threads (/proc/PID/task/TID/schedstat). */

struct vcpu_time {
	uint64_t run_ns;  /* sum over all vCPU threads */
	uint64_t wait_ns; /* runnable but not running on the host: steal time */
};

/* False: the threads of the process VMM cannot be read, no thread has a vCPU's name ("CPU 0/KVM",
 * as QEMU names them when libvirt starts it), or the host does not count. */
bool vcpu_time_read(pid_t vmm, struct vcpu_time *ret);
