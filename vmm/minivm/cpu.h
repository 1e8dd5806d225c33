/* The vCPUs of a machine of our own as the kernel must find them. The one place in vmm/ that knows
 * what an x86-64 vCPU is made of; elsewhere it does not exist (none.c). */
#pragma once

#include "vmm/minivm/memory.h"

struct kvm_run;

/* Page tables and descriptors for 64-bit mode, identity mapped below 4 GiB. */
void hv_minivm_cpu_tables(struct hv_minivm_memory *m);
/* What CPU number CPU of NR says it is. */
struct hv_err *hv_minivm_cpu_identify(int kvm_fd, int vcpu_fd, unsigned cpu,
				      unsigned nr) hv_must_use;
/* CPU 0 stands at ENTRY, as the boot protocol wants it. */
struct hv_err *hv_minivm_cpu_start(int vcpu_fd, struct hv_gpa entry) hv_must_use;

/* Exits when the guest sets the base of its per-CPU data: done once early in startup_64, where the
 * image is mapped as it lies in memory, and again where it is mapped for good. */
struct hv_err *hv_minivm_cpu_watch_base(int kvm_fd, int vm_fd) hv_must_use;
struct hv_err *hv_minivm_cpu_unwatch_base(int vm_fd) hv_must_use;
/* Does what the exit RUN was about. *RET_IN_KERNEL: the code that did it lies where images are. */
struct hv_err *hv_minivm_cpu_base_exit(int vcpu_fd, struct kvm_run *run,
				       bool *ret_in_kernel) hv_must_use;

/* A vCPU that is about to execute the instruction at AT writes to this port instead: an exit on
 * every KVM, where not every one has working debug registers. Where a function begins with a mark
 * for indirect calls, it is the instruction after that: the kernel reads those marks while it
 * starts. */
#define HV_MINIVM_BREAK_PORT 0x9eu
#define HV_MINIVM_BREAK_LEN  2

struct hv_minivm_break {
	struct hv_gva at;
	uint8_t *host[HV_MINIVM_BREAK_LEN]; /* each byte in the machine's memory */
	uint8_t old[HV_MINIVM_BREAK_LEN];
};

/* The vCPU stands, and sees AT as it will when it gets there. */
struct hv_err *hv_minivm_cpu_break(int vcpu_fd, const struct hv_minivm_memory *m, struct hv_gva at,
				   struct hv_minivm_break *ret) hv_must_use;
/* Whether a vCPU that has left the guest did so at B. */
bool hv_minivm_cpu_is_at(int vcpu_fd, const struct hv_minivm_break *b);
/* The bytes are as they were, and a vCPU that has just got there stands before them. */
struct hv_err *hv_minivm_cpu_unbreak(int vcpu_fd, const struct hv_minivm_break *b) hv_must_use;
