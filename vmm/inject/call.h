/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a stopped thread of another process execute system calls, as if it had made them itself.
 *
 *   stack before        during the calls                       each call returns to a `ret`, which
 *   |  ...       |      |  ...            |                    returns to the rt_sigreturn of the
 *   |------------| sp   |-----------------|                    process, which restores every
 *   |  red zone  |      |  red zone       |                    register, even if this process
 *   |------------|      |-----------------|                    has died
 *                       |  data of calls  | HV_CALL_DATA_MAX
 *                       |  FPU state      |
 *                       |  signal frame   |
 *                       |-----------------| sp
 *
 * The frame is complete before the first register is changed, and every register set given to the
 * thread leads to the frame. So the caller may die at any instruction. QEMU's sandbox allows the
 * calls that hvtrace makes: memfd_create, ftruncate, mmap, munmap, close, ioctl, madvise and
 * mprotect. */
#pragma once

#include "vmm/inject/threads.h"

#define HV_CALL_ARGS	 6
#define HV_CALL_DATA_MAX 8192

struct hv_call {
	long nr; /* number of the system call */
	uint64_t args[HV_CALL_ARGS];
	uint32_t data_args; /* bit N: args[N] is an offset in the data */
	/* Offset in the data of a pointer that the call uses: before the call it contains an offset
	 * in the data, afterwards the address that replaced it. 0: none. */
	uint32_t pointer_off;
	int64_t result;
};

/* Code addresses in the process that the calls need. */
struct hv_call_code {
	uint64_t syscall_ret; /* `syscall; ret` */
	uint64_t sigreturn;   /* the C library's return from signal handlers */
};

/* Fails with ENOTSUP if the process has no such code, or this host's architecture is not
 * supported. */
struct hv_err *hv_call_code_find(pid_t pid, struct hv_call_code *ret) hv_must_use;

/* Whether a stopped thread may be used: it must be at the end of a system call that does not need
 * the kernel's restart block. */
bool hv_call_can(const struct hv_thread *t);

/* Whether a stopped thread is in KVM_RUN, or at its very end. */
bool hv_call_in_kvm_run(const struct hv_thread *t);

/* Makes CALLS in order, up to the first failure; later calls get the result -ECANCELED. LEN (at
 * most HV_CALL_DATA_MAX) bytes of DATA are copied into the process before and back afterwards. On
 * success the thread is stopped at its original position. On error the thread may be running; it
 * then returns to its original position without help. */
struct hv_err *hv_call_run(pid_t pid, struct hv_thread *t, const struct hv_call_code *code,
			   struct hv_call *calls, size_t nr, void *data, size_t len_bytes,
			   uint64_t deadline_ns) hv_must_use;
