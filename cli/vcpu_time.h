/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For how long the host has run a guest's vCPUs, and let them wait, as it counts for the VMM's
 * threads (/proc/PID/task/TID/schedstat). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct vcpu_time {
	uint64_t run_ns;  /* of all vCPU threads */
	uint64_t wait_ns; /* in which they could have run, but the host ran something else: steal */
};

/* False: the threads of the process VMM cannot be read, or none has the name of a vCPU ("CPU
 * 0/KVM", as QEMU names them when libvirt starts it), or the host does not count. */
bool vcpu_time_read(pid_t vmm, struct vcpu_time *ret);
