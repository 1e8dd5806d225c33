/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client's connection to a service, of programs that use the library and of hvtrace's own
 * commands. Sends requests (wire.h), several at a time, and receives the replies in any order. The
 * service can be hostile: nothing that it sends makes a call wait for longer than the limit, or use
 * more memory than CONN_IN_BYTES.
 *
 * A connection is unusable after ECONNRESET, EPROTO, ESHUTDOWN and errors of system calls: a later
 * reply could be mistaken for the reply to another request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/error.h"

#define CONN_IN_BYTES	(WIRE_HEAD_LEN + WIRE_DATA_MAX + (64u << 10))
#define CONN_TIMEOUT_MS 600000u /* a service may wait for a hold or on a busy host */

struct conn {
	int fd;
	int broken;	     /* errno that made the connection unusable, or 0 */
	unsigned timeout_ms; /* for each request */
	uint64_t until_ns;   /* deadline for all requests; 0: none */
	uint32_t tag;	     /* of the last request */
	const char *domain;  /* borrowed; for messages */
	pid_t service_pid;   /* for messages */
	/* Receives the text of each WIRE_NOTE, during the call: one line of UTF-8 without control
	 * characters. May be NULL. */
	void (*on_note)(const char *text, void *data);
	void *note_data;
	/* Receives the replies to requests other than the one that conn_call() waits for. May be
	 * NULL. */
	void (*on_reply)(void *data, const struct wire_frame *reply);
	void *data;
	uint8_t *out; /* owned; the requests of conn_queue() */
	size_t out_at, out_end, out_room;
	size_t at, end; /* received and not yet decoded */
	uint8_t in[CONN_IN_BYTES];
};

struct conn_peer {
	const char *domain;  /* for messages; must outlive the connection */
	pid_t service_pid;   /* for messages */
	unsigned timeout_ms; /* for the connect and for each request; 0: CONN_TIMEOUT_MS */
	uint64_t until_ns;   /* deadline for everything together; 0: none */
};

/* Connects to the socket in the directory DIR. */
struct hvt_error *conn_open(const char *dir, const struct conn_peer *peer,
			    struct conn **ret) hv_must_use;
/* The two steps of conn_open(), for use in two processes. conn_connect() returns a connected
 * socket, and conn_adopt() takes ownership of such a socket, FD, on success. */
struct hvt_error *conn_connect(const char *dir, const struct conn_peer *peer, int *ret) hv_must_use;
struct hvt_error *conn_adopt(int fd, const struct conn_peer *peer, struct conn **ret) hv_must_use;
void conn_close(struct conn *c);

/* Sends REQUEST, with a new tag. */
struct hvt_error *conn_send(struct conn *c, const struct wire_frame *request,
			    uint32_t *ret_tag) hv_must_use;
/* Sends REQUEST, which has no data, NR times, with consecutive tags. */
#define CONN_SEND_MAX 32
struct hvt_error *conn_send_many(struct conn *c, const struct wire_frame *request, unsigned nr,
				 uint32_t *ret_first_tag) hv_must_use;
/* Takes a reply, if there is one. RET borrows C until the next call. */
struct hvt_error *conn_take(struct conn *c, bool *ret_has, struct wire_frame *ret) hv_must_use;
/* The time limit for a request that is sent now. */
uint64_t conn_deadline(const struct conn *c);
/* Waits for a reply until DEADLINE_NS. If that is 0, waits forever for the first byte of a reply,
 * and at most the time limit of a request for the rest. RET borrows C until the next call. */
struct hvt_error *conn_receive(struct conn *c, uint64_t deadline_ns,
			       struct wire_frame *ret) hv_must_use;
/* Sends REQUEST and waits for its reply: up to the time limit, after the time that REQUEST may wait
 * in the service. If the reply is a WIRE_ERROR, returns its error. */
struct hvt_error *conn_call(struct conn *c, const struct wire_frame *request,
			    struct wire_frame *ret) hv_must_use;
struct hvt_error *conn_call_path(struct conn *c, enum wire_kind kind, const char *path,
				 uint32_t arg, struct wire_frame *ret) hv_must_use;

/* For a poll loop that must not block. conn_queue() appends REQUEST to the output buffer; the
 * caller limits the number of queued requests. conn_flush() sends as much of the buffer as the
 * socket accepts. conn_fill() receives once and sets *RET_ANY to false if no bytes arrived.
 * conn_next() then returns the next complete reply. */
struct hvt_error *conn_queue(struct conn *c, const struct wire_frame *request,
			     uint32_t *ret_tag) hv_must_use;
struct hvt_error *conn_flush(struct conn *c) hv_must_use;
bool conn_has_output(const struct conn *c);
struct hvt_error *conn_fill(struct conn *c, bool *ret_any) hv_must_use;
struct hvt_error *conn_next(struct conn *c, bool *ret_has, struct wire_frame *ret) hv_must_use;

/* Read, write and list as in hvtrace/hvtrace.h. KIND is WIRE_OPEN or WIRE_OPEN_PROC. */
struct hvt_error *conn_read_file(struct conn *c, enum wire_kind kind, const char *path, char **ret,
				 size_t *ret_bytes) hv_must_use;
/* Like conn_read_file(), but replaces each byte that is not a printable ASCII character, tab or
 * newline by '?'. */
struct hvt_error *conn_read_lines(struct conn *c, enum wire_kind kind, const char *path, char **ret,
				  size_t *ret_bytes) hv_must_use;
/* Writes LEN_BYTES of DATA to the open file HANDLE, with several requests if needed. */
struct hvt_error *conn_write_all(struct conn *c, uint32_t handle, const void *data,
				 size_t len_bytes) hv_must_use;
struct hvt_error *conn_write_file(struct conn *c, const char *path, enum hvt_write_mode mode,
				  const char *text) hv_must_use;
/* Like conn_write_file(), for the file NAME of directory DIR. */
struct hvt_error *conn_write_in(struct conn *c, const char *dir, const char *name,
				const char *text) hv_must_use;
struct hvt_error *conn_list(struct conn *c, const char *path, char **ret) hv_must_use;
/* Copies the text of a reply. Refuses one with a NUL. */
struct hvt_error *conn_text(struct conn *c, const struct wire_frame *reply, char **ret) hv_must_use;
/* Formats the path of a file. Fails with ENAMETOOLONG. */
struct hvt_error *conn_path(const char *dir, const char *name, char ret[WIRE_PATH_MAX]) hv_must_use;
