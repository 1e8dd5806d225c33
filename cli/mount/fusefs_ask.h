/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions of the kernel that are passed on to the service. They have references to open files.
 * Leaves to others: what is asked, and what the answer means. */
#pragma once

#include "base/clock.h"
#include "cli/mount/fusefs_state.h"

#define ASK_GIVE_UP_NS (5 * HV_NS_PER_S) /* on who does not answer */

/* REQ may be NULL: the kernel did not ask. DONE takes the answer, and the ask is freed then. */
struct ask *ask_new(struct fusefs *fs, fuse_req_t req,
		    void (*done)(struct ask *a, const struct wire_frame *answer));
void ask_send(struct ask *a, const struct wire_frame *frame);
/* As ask_send, once the files of processes that have died are closed: the kernel closes those in
 * the background, so that who waited for such a process could come first. */
void ask_send_settled(struct ask *a, const struct wire_frame *frame);
void ask_send_path(struct ask *a, enum wire_kind kind, const char *path, uint32_t arg);
/* Ends an ask that was never sent. */
void ask_free(struct ask *a);

/* Answers the asker with an error, if there still is one. */
void ask_fail(struct ask *a, int code);
/* True: ANSWER is an error, with which the asker was answered. */
bool ask_failed(struct ask *a, const struct wire_frame *answer);

/* Kept back by ask_send_settled(). */
bool ask_is_deferred(const struct ask *a);
bool asks_any_deferred(const struct fusefs *fs);
/* Sends what was kept back, if nobody is closing any more or that takes too long. */
void asks_send_deferred(struct fusefs *fs);

/* Gives a reference back; the last one frees. */
void file_put(struct file *f);
bool file_writes(const struct file *f);
