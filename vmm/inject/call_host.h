/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What call.c has from the file of the host's architecture, call_ARCH.c. */
#pragma once

#include "vmm/inject/call.h"

struct hv_call_pattern {
	const uint8_t *bytes;
	size_t len_bytes;
	size_t align; /* of its address */
};

/* `syscall; ret` or what the host's architecture has for it, and the code that returns from a
 * signal's handler. */
extern const struct hv_call_pattern hv_call_syscall_ret;
extern const struct hv_call_pattern hv_call_sigreturn;

/* What is written to a thread's stack for calls, and the registers that it returns to. */
struct hv_call_image;

/* Saves the state of a stopped thread. *RET is freed with free(). *RET_DATA_AT: where the data of
 * calls will be. EBUSY: hv_call_can() says that it may not be used. */
struct hv_err *hv_call_image_make(const struct hv_thread *t, const struct hv_call_code *code,
				  struct hv_call_image **ret, uint64_t *ret_data_at) hv_must_use;
/* Writes the frame and LEN bytes of DATA, before any register is changed. */
struct hv_err *hv_call_image_put(pid_t pid, const struct hv_call_image *image, const void *data,
				 size_t len_bytes) hv_must_use;
/* Where a thread is. */
struct hv_call_at {
	uint64_t ip, sp;
};
/* Gives the thread the registers that make system call NR when it runs. *RET_END: where it is at
 * the end of the call. */
struct hv_err *hv_call_set(const struct hv_thread *t, const struct hv_call_code *code,
			   const struct hv_call_image *image, long nr,
			   const uint64_t args[HV_CALL_ARGS],
			   struct hv_call_at *ret_end) hv_must_use;
/* Where the thread was before the calls. */
struct hv_call_at hv_call_from(const struct hv_call_image *image);
/* Reads where the thread is now, and whether it has the registers that it had before the calls.
 * False: they cannot be read. */
bool hv_call_look(const struct hv_thread *t, const struct hv_call_image *image,
		  struct hv_call_at *ret, bool *ret_same);
/* Makes all registers of a thread known that is back where it was, and stopped at the end of its
 * rt_sigreturn. */
struct hv_err *hv_call_settle(struct hv_thread *t, uint64_t deadline_ns) hv_must_use;
