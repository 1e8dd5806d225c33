/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages between two processes of a session, over a stream socket: a kind, four numbers, bytes
 * and files. One side sends a request, the other one answers; one request at a time. The requesting
 * side may have been taken over by a guest, so its messages are bounded and checked. wire.h defines
 * the kinds. */
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
	int fds[HV_MESSAGE_FDS_MAX]; /* -1: ownership was taken */
	size_t nr_fds;
};

/* Frees the bytes and closes the files of a message that owns them: one that was received, or an
 * answer. */
void hv_message_deinit(struct hv_message *m);
/* Adds a copy of FD; ignores -1. */
void hv_message_add_fd(struct hv_message *m, int fd);
#define HV_AUTO_MESSAGE hv_cleanup(hv_message_deinit)

/* Fails with EPIPE if the peer has closed the connection. */
struct hv_err *hv_channel_send(int socket, const struct hv_message *m) hv_must_use;
/* Waits for a message. Fails with EPIPE if the peer has closed the connection, or EPROTO if the
 * data is not a message. After an error RET owns nothing. */
struct hv_err *hv_channel_receive(int socket, struct hv_message *ret) hv_must_use;
/* Like hv_channel_receive(). Fails with ETIMEDOUT if the message was not complete by
 * DEADLINE_NS. */
struct hv_err *hv_channel_receive_by(int socket, uint64_t deadline_ns,
				     struct hv_message *ret) hv_must_use;

/* Sends QUESTION and waits for the answer. Also returns the error in the answer. */
struct hv_err *hv_channel_ask(int socket, const struct hv_message *question,
			      struct hv_message *ret) hv_must_use;
/* Sends ANSWER if ERR is NULL, else ERR. Takes ERR. */
struct hv_err *hv_channel_answer(int socket, struct hv_err *err,
				 const struct hv_message *answer) hv_must_use;
