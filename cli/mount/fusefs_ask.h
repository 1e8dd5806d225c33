/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to the service on behalf of the kernel (asks). They hold references to open files. The
 * callers choose the request and interpret the answer. */
#pragma once

#include "base/clock.h"
#include "cli/mount/fusefs_state.h"

#define ASK_GIVE_UP_NS (5 * HV_NS_PER_S) /* timeout for a peer that does not answer */

/* REQ may be NULL: the kernel did not ask. DONE receives the answer; the ask is freed
 * afterwards. */
struct ask *ask_new(struct fusefs *fs, fuse_req_t req,
		    void (*done)(struct ask *a, const struct wire_frame *answer));
void ask_send(struct ask *a, const struct wire_frame *frame);
/* Like ask_send(), but first waits until the files of dead processes are closed. The kernel closes
 * them in the background, so otherwise a program that has waited for such a process could still
 * find its files open. */
void ask_send_settled(struct ask *a, const struct wire_frame *frame);
void ask_send_path(struct ask *a, enum wire_kind kind, const char *path, uint32_t arg);
/* Ends an ask that was never sent. */
void ask_free(struct ask *a);

/* Answers the kernel's request with an error, if it is still pending. */
void ask_fail(struct ask *a, int code);
/* True: ANSWER is an error and was forwarded to the kernel. */
bool ask_failed(struct ask *a, const struct wire_frame *answer);

/* Deferred by ask_send_settled(). */
bool ask_is_deferred(const struct ask *a);
bool asks_any_deferred(const struct fusefs *fs);
/* Sends deferred asks if no dead process has files to close, or if that takes too long. */
void asks_send_deferred(struct fusefs *fs);

/* Drops a reference; the last one frees the file. */
void file_put(struct file *f);
bool file_writes(const struct file *f);
