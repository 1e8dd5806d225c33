/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What call.c has from the file of the host's architecture, call_ARCH.c, and that from it. */
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

/* False: not all of it can be read or written. */
bool hv_call_read(pid_t pid, uint64_t at, void *to, size_t len_bytes);
bool hv_call_write(pid_t pid, uint64_t at, const void *from, size_t len_bytes);

/* What is written to a thread's stack for calls, and the registers that it returns to. */
struct hv_call_image;

/* Saves the state of a stopped thread. *RET is freed with free(). *RET_DATA_AT: where the data of
 * calls will be. EBUSY: hv_call_can() says that it may not be used. */
struct hv_err *hv_call_image_make(const struct hv_thread *t, const struct hv_call_code *code,
				  struct hv_call_image **ret, uint64_t *ret_data_at) hv_must_use;
/* Writes the frame and LEN bytes of DATA, before any register is changed. */
struct hv_err *hv_call_image_put(pid_t pid, const struct hv_call_image *image, const void *data,
				 size_t len_bytes) hv_must_use;
/* Makes one call; the thread is stopped at its end. */
struct hv_err *hv_call_make(struct hv_thread *t, const struct hv_call_code *code,
			    const struct hv_call_image *image, struct hv_call *call,
			    uint64_t deadline_ns) hv_must_use;
/* Lets the thread return through the frame to where it was, and stops it there. */
struct hv_err *hv_call_come_back(struct hv_thread *t, const struct hv_call_image *image,
				 uint64_t deadline_ns) hv_must_use;
