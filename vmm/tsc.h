/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time stamp counters, of the host and of KVM guests. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "vmm/guest.h"

/* -- the host's counter ------------------------------------------------------------------------ */

/* Converts the host's time stamp counter to its CLOCK_MONOTONIC with regular samples of both.
 * Between two samples the result is as accurate as a sample, which is below a microsecond: an
 * attempt during which the host descheduled this thread is not used. After the newest sample the
 * rate of the last seconds is used. Units: ns, ticks. */

#define HV_HOST_TIME_SAMPLES 1024

struct hv_host_moment {
	uint64_t ticks;
	uint64_t ns;
};

struct hv_host_time {
	struct hv_host_moment moments[HV_HOST_TIME_SAMPLES]; /* a ring, ascending */
	unsigned first;
	unsigned nr;
};

/* Reads the counter. Returns false if this host does not have one. */
bool hv_host_ticks(uint64_t *ret);
/* Takes a sample; call this about once a second. */
void hv_host_time_sample(struct hv_host_time *t);
/* Adds a sample of the caller. Drops it if it is not newer than the newest. */
void hv_host_time_add(struct hv_host_time *t, struct hv_host_moment moment);
/* Stores in *RET the CLOCK_MONOTONIC time of the counter value TICKS. Returns false if there are
 * fewer than two samples. */
bool hv_host_time_at(const struct hv_host_time *t, uint64_t ticks, uint64_t *ret_ns);

/* -- a guest's counter ------------------------------------------------------------------------- */

/* The relation between a KVM guest's time stamp counter and the host's, read from KVM's files in
 * debugfs (arch/x86/kvm/debugfs.c): guest = (host * ratio >> frac_bits) + offset, modulo 2^64. */

#define HV_KVM_DEBUGFS "/sys/kernel/debug/kvm"

/* Reads it for vCPU VCPU of process PID. Fails with ENOENT if there are no such files (no debugfs,
 * or another architecture), or ENOTUNIQ if the process has more than one virtual machine. */
struct hv_err *hv_kvm_tsc(const char *debugfs, pid_t pid, unsigned vcpu,
			  struct hv_tsc *ret) hv_must_use;
