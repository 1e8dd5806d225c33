/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interface between call.c and the file for the host's architecture, call_ARCH.c. */
#pragma once

#include "vmm/inject/call.h"

struct hv_call_pattern {
	const uint8_t *bytes;
	size_t len_bytes;
	size_t align; /* of its address */
};

/* `syscall; ret` or its equivalent on the host's architecture, and the code that returns from
 * signal handlers. */
extern const struct hv_call_pattern hv_call_syscall_ret;
extern const struct hv_call_pattern hv_call_sigreturn;

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
