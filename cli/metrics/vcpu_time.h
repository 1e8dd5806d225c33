/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long the host ran a guest's vCPUs and how long it let them wait, from the scheduler's
 * counters of the VMM's threads (/proc/PID/task/TID/schedstat). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct vcpu_time {
	uint64_t run_ns;  /* sum over all vCPU threads */
	uint64_t wait_ns; /* runnable but not running on the host: steal time */
};

/* False: the threads of the process VMM cannot be read, no thread has a vCPU's name ("CPU 0/KVM",
 * as QEMU names them when libvirt starts it), or the host does not count. */
bool vcpu_time_read(pid_t vmm, struct vcpu_time *ret);
