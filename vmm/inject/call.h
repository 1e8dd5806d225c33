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
 * thread leads to the frame. So the caller may die at any instruction. No call is made that a
 * seccomp filter of the thread does not allow (proof.h). */
#pragma once

#include "vmm/inject/proof.h"
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
	uint32_t unknown_args; /* for hv_call_check(), bit N: args[N] is not known yet */
	int64_t result;
};

/* Code addresses in the process that the calls need, and what is known about its filters. */
struct hv_call_code {
	uint64_t syscall_ret; /* `syscall; ret` */
	uint64_t sigreturn;   /* the C library's return from signal handlers */
	enum hv_unread_filters unread_filters;
};

/* Finds the code. Fails with ENOTSUP if the process has none, or this host's architecture is not
 * supported. */
struct hv_err *hv_call_code_find(pid_t pid, struct hv_call_code *ret) hv_must_use;

/* Whether a stopped thread may be used: it must be at the end of a system call that does not need
 * the kernel's restart block. */
bool hv_call_can(const struct hv_thread *t);

/* Whether a stopped thread is in KVM_RUN, or about to return from it to user mode. */
bool hv_call_in_kvm_run(const struct hv_thread *t);

/* Call it each time a thread has stopped. The kernel continues some interrupted waits with
 * restart_syscall(2), such as nanosleep(2). If the thread waits there and its seccomp filters do not
 * allow that call, the wait returns EINTR instead, as after a signal. */
void hv_call_end_wait(struct hv_thread *t, const struct hv_call_code *code);

/* Fails with EPERM, and the thread is unchanged, unless all its seccomp filters allow all CALLS and
 * the return from them. Arguments that are not known yet can then be any values, as can the
 * addresses of data. */
struct hv_err *hv_call_check(struct hv_thread *t, const struct hv_call_code *code,
			     const struct hv_call *calls, size_t nr) hv_must_use;

/* Makes CALLS in order, up to the first failure; later calls get the result -ECANCELED. LEN (at
 * most HV_CALL_DATA_MAX) bytes of DATA are copied into the process before and back afterwards. On
 * success the thread is stopped at its original position. On error the thread may be running; it
 * then returns to its original position without help. Fails with EPERM, before the thread is
 * changed, unless its seccomp filters allow exactly these calls. */
struct hv_err *hv_call_run(pid_t pid, struct hv_thread *t, const struct hv_call_code *code,
			   struct hv_call *calls, size_t nr, void *data, size_t len_bytes,
			   uint64_t deadline_ns) hv_must_use;

/* -- the host's architecture ------------------------------------------------------------------- */

/* The interface between call.c and the file for the host's architecture, call_ARCH.c. */

struct hv_call_pattern {
	const uint8_t *bytes;
	size_t len_bytes;
	size_t align; /* of its address */
};

/* `syscall; ret` or its equivalent on the host's architecture, and the code that returns from
 * signal handlers. */
extern const struct hv_call_pattern hv_call_syscall_ret;
extern const struct hv_call_pattern hv_call_sigreturn;
extern const uint32_t hv_call_audit_arch;    /* AUDIT_ARCH_... of these calls */
extern const uint32_t hv_call_syscall_bytes; /* length of the instruction that makes a call */

/* Whether the kernel will continue the call of a stopped thread with restart_syscall(2). *RET_IP is
 * the instruction pointer of that call, as filters see it. */
bool hv_call_restarts(const struct hv_thread *t, uint64_t *ret_ip);
/* Makes the call of such a thread return EINTR. */
void hv_call_interrupt(const struct hv_thread *t);

/* The data on a thread's stack for calls, and the registers to restore. */
struct hv_call_image;

/* Saves the state of a stopped thread. The caller frees *RET with free(). *RET_DATA_AT is the
 * future address of the calls' data. Fails with EBUSY if hv_call_can() returns false. */
struct hv_err *hv_call_image_make(const struct hv_thread *t, const struct hv_call_code *code,
				  struct hv_call_image **ret, uint64_t *ret_data_at) hv_must_use;
/* Writes the frame and LEN bytes of DATA, before any register is changed. */
struct hv_err *hv_call_image_put(pid_t pid, const struct hv_call_image *image, const void *data,
				 size_t len_bytes) hv_must_use;
/* The position of a thread. */
struct hv_call_at {
	uint64_t ip, sp;
};
/* Sets the thread's registers so that it makes system call NR when it resumes. *RET_END is its
 * position after the call. */
struct hv_err *hv_call_set(const struct hv_thread *t, const struct hv_call_code *code,
			   const struct hv_call_image *image, long nr,
			   const uint64_t args[HV_CALL_ARGS],
			   struct hv_call_at *ret_end) hv_must_use;
/* Returns the thread's position before the calls. */
struct hv_call_at hv_call_from(const struct hv_call_image *image);
/* Reads the thread's current position, and whether its registers are those from before the calls.
 * Returns false if they cannot be read. */
bool hv_call_look(const struct hv_thread *t, const struct hv_call_image *image,
		  struct hv_call_at *ret, bool *ret_same);
/* For a thread that is stopped at the end of its rt_sigreturn, back at its original position: makes
 * all its registers readable. */
struct hv_err *hv_call_settle(struct hv_thread *t, uint64_t deadline_ns) hv_must_use;
