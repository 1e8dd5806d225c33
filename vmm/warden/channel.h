/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between two processes of a session, over a stream socket: a kind, four numbers, bytes
 * and files. One side asks, the other one answers; one question at a time.
 * The side that asks may be taken over by a guest, so what it sends is bounded and checked.
 * Leaves to others: what the kinds mean (wire.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define HV_MESSAGE_BYTES_MAX (4u << 20)
#define HV_MESSAGE_FDS_MAX   32

struct hv_message {
	uint32_t kind;
	uint64_t args[4];
	uint8_t *bytes;
	size_t len_bytes;
	int fds[HV_MESSAGE_FDS_MAX]; /* -1: taken by somebody */
	size_t nr_fds;
};

/* Frees the bytes and closes the files, for a message that owns them: one that was received, or an
 * answer. */
void hv_message_deinit(struct hv_message *m);
/* Adds a copy of FD; -1 is no file. */
void hv_message_add_fd(struct hv_message *m, int fd);
#define HV_AUTO_MESSAGE hv_cleanup(hv_message_deinit)

/* EPIPE: the other side has gone. */
struct hv_err *hv_channel_send(int socket, const struct hv_message *m) hv_must_use;
/* Waits for a message. EPIPE: the other side has gone. EPROTO: what came is no message. After an
 * error RET owns nothing. */
struct hv_err *hv_channel_receive(int socket, struct hv_message *ret) hv_must_use;
/* As hv_channel_receive(). ETIMEDOUT: not all of the message came by DEADLINE_NS. */
struct hv_err *hv_channel_receive_by(int socket, uint64_t deadline_ns,
				     struct hv_message *ret) hv_must_use;

/* Sends QUESTION and waits for the answer. Returns also the error that the other side answered. */
struct hv_err *hv_channel_ask(int socket, const struct hv_message *question,
			      struct hv_message *ret) hv_must_use;
/* Sends ANSWER if ERR is NULL, else ERR. Takes ERR. */
struct hv_err *hv_channel_answer(int socket, struct hv_err *err,
				 const struct hv_message *answer) hv_must_use;
