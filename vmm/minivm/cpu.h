/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The vCPUs of an hvtrace machine in the state in which the boot protocol starts a kernel. Only the
 * implementation, cpu_x86_64.c, knows the registers of a vCPU; other hosts do not support such
 * machines (none.c). */
#pragma once

#include "base/err.h"
#include "vmm/minivm/memory.h"

struct kvm_run;

/* Writes page tables and descriptors for 64-bit mode, which map the first 4 GiB one to one. */
void hv_minivm_cpu_tables(struct hv_minivm_memory *m);
/* Sets the CPUID and MSRs of CPU number CPU of NR. */
struct hv_err *hv_minivm_cpu_identify(int kvm_fd, int vcpu_fd, unsigned cpu,
				      unsigned nr) hv_must_use;
/* Sets the registers of CPU 0 so that it starts at ENTRY by the boot protocol. */
struct hv_err *hv_minivm_cpu_start(int vcpu_fd, struct hv_gpa entry) hv_must_use;

/* Makes vCPUs exit when the guest sets the base of its per-CPU data. A kernel does that early in
 * startup_64, while its image is mapped at its physical address, and again when its image is mapped
 * at its final address. */
struct hv_err *hv_minivm_cpu_watch_base(int kvm_fd, int vm_fd) hv_must_use;
struct hv_err *hv_minivm_cpu_unwatch_base(int vm_fd) hv_must_use;
/* Completes the write that caused the exit RUN. *RET_IN_KERNEL: the writing code is in the address
 * range of kernel images. */
struct hv_err *hv_minivm_cpu_base_exit(int vcpu_fd, struct kvm_run *run,
				       bool *ret_in_kernel) hv_must_use;

/* A breakpoint: the instruction at AT is replaced by one that writes to this port. That causes an
 * exit on every KVM, while debug registers do not work on every one. If AT contains an endbr64, the
 * instruction after it is replaced, because a booting kernel reads the endbr64 at functions. */
#define HV_MINIVM_BREAK_PORT 0x9eu
#define HV_MINIVM_BREAK_LEN  2

struct hv_minivm_break {
	struct hv_gva at;
	uint8_t *host[HV_MINIVM_BREAK_LEN]; /* address of each byte in the machine's memory */
	uint8_t old[HV_MINIVM_BREAK_LEN];
};

/* Sets a breakpoint. The vCPU must be stopped, and its page tables must map AT as they will when it
 * executes AT. */
struct hv_err *hv_minivm_cpu_break(int vcpu_fd, const struct hv_minivm_memory *m, struct hv_gva at,
				   struct hv_minivm_break *ret) hv_must_use;
/* Whether a vCPU exited at B. */
bool hv_minivm_cpu_is_at(int vcpu_fd, const struct hv_minivm_break *b);
/* Removes a breakpoint. A vCPU that has just exited at B executes the original instruction next. */
struct hv_err *hv_minivm_cpu_unbreak(int vcpu_fd, const struct hv_minivm_break *b) hv_must_use;

/* -- a trial of KVM ---------------------------------------------------------------------------- */

/* Checks whether this host's KVM can run a kernel at all. A KVM without VMX and SVM emulates the
 * guest's instructions: it needs hours to boot Linux, or fails at an instruction that it cannot
 * emulate. */

/* Executes a loop of half a million instructions in a temporary virtual machine, which takes less
 * than a second. KVM_FD is an open /dev/kvm. Fails with ENOTSUP if it is too slow or cannot execute
 * the loop. */
struct hv_err *hv_minivm_trial(int kvm_fd) hv_must_use;
