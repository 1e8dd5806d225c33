/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection to a service. Sends requests (wire.h), several at a time, and receives the replies
 * in any order. The service can be hostile: nothing that it sends makes a call wait for longer than
 * the limit, or use more memory than CONN_IN_BYTES.
 *
 * A connection is unusable after ECONNRESET, EPROTO and ESHUTDOWN: a later reply could be mistaken
 * for the reply to another request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/error.h"

#define CONN_IN_BYTES	(WIRE_HEAD_LEN + WIRE_DATA_MAX + (64u << 10))
#define CONN_TIMEOUT_MS 600000u /* a service may wait for a hold or on a busy host */

struct conn {
	int fd;
	int broken; /* errno that made the connection unusable, or 0 */
	unsigned timeout_ms;
	uint32_t tag;	    /* of the last request */
	const char *domain; /* borrowed; for messages */
	/* Receives the replies to requests other than the one that conn_call() waits for. May be
	 * NULL. */
	void (*on_reply)(void *data, const struct wire_frame *reply);
	void *data;
	size_t at, end; /* received and not yet decoded */
	uint8_t in[CONN_IN_BYTES];
};

/* Connects to the socket in the directory PATH. DOMAIN must outlive the connection. */
struct hvt_error *conn_open(const char *path, const char *domain, unsigned timeout_ms,
			    struct conn **ret) hv_must_use;
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
/* Waits for a reply until DEADLINE_NS. RET borrows C until the next call. */
struct hvt_error *conn_receive(struct conn *c, uint64_t deadline_ns,
			       struct wire_frame *ret) hv_must_use;
/* Sends REQUEST and waits for its reply. If the reply is a WIRE_ERROR, returns its error. */
struct hvt_error *conn_call(struct conn *c, const struct wire_frame *request,
			    struct wire_frame *ret) hv_must_use;
struct hvt_error *conn_call_path(struct conn *c, enum wire_kind kind, const char *path,
				 uint32_t arg, struct wire_frame *ret) hv_must_use;

/* Read, write and list as in hvtrace/hvtrace.h. KIND is WIRE_OPEN or WIRE_OPEN_PROC. */
struct hvt_error *conn_read_file(struct conn *c, enum wire_kind kind, const char *path, char **ret,
				 size_t *ret_bytes) hv_must_use;
/* Like conn_read_file(), but replaces each byte that is not a printable ASCII character, tab or
 * newline by '?'. */
struct hvt_error *conn_read_lines(struct conn *c, enum wire_kind kind, const char *path, char **ret,
				  size_t *ret_bytes) hv_must_use;
struct hvt_error *conn_write_file(struct conn *c, const char *path, enum hvt_write_mode mode,
				  const char *text) hv_must_use;
/* Like conn_write_file(), for the file NAME of directory DIR. */
struct hvt_error *conn_write_in(struct conn *c, const char *dir, const char *name,
				const char *text) hv_must_use;
struct hvt_error *conn_list(struct conn *c, const char *path, char **ret) hv_must_use;
/* Formats the path of a file. Fails with ENAMETOOLONG. */
struct hvt_error *conn_path(const char *dir, const char *name, char ret[WIRE_PATH_MAX]) hv_must_use;
