/* System calls made by a stopped thread of another process, as if it had made them itself.
 *
 *   stack before        during the calls                       each call returns to `ret`, and that
 *   |  ...       |      |  ...            |                    to the process's own rt_sigreturn,
 *   |------------| sp   |-----------------|                    which puts back every register,
 *   |  red zone  |      |  red zone       |                    whoever is still alive
 *   |------------|      |-----------------|
 *                       |  data of calls  | HV_CALL_DATA_MAX
 *                       |  FPU state      |
 *                       |  signal frame   |
 *                       |-----------------| sp
 *
 * The frame is complete before the first register is changed, and every register set that the
 * thread is ever given ends in it: we may die at any instruction.
 * Leaves to others: which calls. The VMM's sandbox kills it for others than memfd_create,
 * ftruncate, mmap, munmap, ioctl and madvise. */
#pragma once

#include "vmm/inject/threads.h"

#define HV_CALL_ARGS	 6
#define HV_CALL_DATA_MAX 8192

struct hv_call {
	long nr; /* of the system call */
	uint64_t args[HV_CALL_ARGS];
	uint32_t data_args; /* bit N: args[N] is an offset in the data */
	uint32_t unused;
	int64_t result;
};

/* Places in the process that the calls need. */
struct hv_call_code {
	uint64_t syscall_ret; /* `syscall; ret` */
	uint64_t sigreturn;   /* the C library's return from signal handlers */
};

/* ENOTSUP: they are not there, or this host's architecture is not supported. */
struct hv_err *hv_call_code_find(pid_t pid, struct hv_call_code *ret) hv_must_use;

/* Whether a stopped thread may be used: it is at the end of a system call that does not need
 * the kernel's restart block. */
bool hv_call_can(const struct hv_thread *t);

/* Whether a stopped thread stands in KVM_RUN, or at its very end. */
bool hv_call_in_kvm_run(const struct hv_thread *t);

/* Makes CALLS in order, up to the first that fails; results of calls not made are -ECANCELED. DATA
 * (LEN, at most HV_CALL_DATA_MAX) is put into the process before and read back after. The thread
 * is stopped as before when it is over. An error: the thread may still run, and comes back to
 * what it did by itself. */
struct hv_err *hv_call_run(pid_t pid, struct hv_thread *t, const struct hv_call_code *code,
			   struct hv_call *calls, size_t nr, void *data, size_t len_bytes,
			   uint64_t deadline_ns) hv_must_use;
