/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One client, as the service sees it: a non-blocking socket with bounded buffers, and the files
 * that the client has open. At most one frame is received, the rest stays in the socket, and no
 * request is handled while an answer has not been sent completely. So neither buffer grows beyond
 * one frame.
 * Leaves to others: what a request does (requests.h), when to handle one (serve.h). */
#pragma once

#include <sys/socket.h>

#include "base/shared_text.h"
#include "cli/audit.h"
#include "cli/service/policy.h"
#include "cli/wire.h"
#include "tree/tree.h"

#define PEER_FILES_MAX 1024
#define PEER_WAITS_MAX 1024

struct peer_file {
	char *path;	      /* owned; NULL: free slot */
	struct hv_file *file; /* owned; NULL: TEXT is the whole file, of the guest's /proc */
	/* If FILE is open for writing, too, it cannot be read again from its beginning; this open
	 * file of the same path is read instead. Owned, or NULL. */
	struct hv_file *again;
	const struct hv_shared_text *text; /* owned, or NULL */
	int flags;
	uint64_t pos; /* of the next byte to read */
};

struct peer_wait {	     /* a request for which there is no data yet */
	enum wire_kind kind; /* WIRE_READ or WIRE_READY */
	uint32_t tag;
	uint32_t handle;
	uint32_t want_bytes;
	uint64_t until_ns;
};

struct peer {
	int fd;
	struct ucred cred;
	struct audit_actor who;
	bool is_root; /* may do everything; set by access_admits(), as are rights */
	struct policy_rights rights;
	struct hv_rights may; /* the same for the tree; files that are open borrow it */
	char *name;	      /* owned; may.who, unless the client is root */
	size_t files_max;     /* that may be open at a time */
	size_t waits_max;
	struct hv_text in;
	struct hv_text out;
	size_t out_sent_bytes;
	struct peer_file *files; /* owned */
	size_t nr_files;	 /* slots */
	struct peer_wait *waits; /* owned */
	size_t nr_waits;
	uint32_t tag;		   /* of the request that is being answered */
	uint64_t max_overhead_ppm; /* that tracing may take while it is connected; 0: no limit */
	char *mount_dir;	   /* owned; NULL, or the directory where it has mounted the tree */
	bool owns_session;	   /* the session ends when this connection does */
	bool only_watches;	   /* it is no reason for the session to stay (--idle) */
	uint64_t number;	   /* in the order in which clients came */
	bool is_extra;		   /* above the limit: it may detach; other requests get an error */
	bool leaves;		   /* to be closed when its answers are sent */
	bool gone;		   /* closed or broken: to be dropped */
};

/* Accepts the next connection of LISTEN_FD, whoever made it. NULL: there is none. */
struct peer *peer_accept(int listen_fd);
/* The same for a connection that is there; takes FD. */
struct peer *peer_of(int fd);
/* The caller has closed the files before. */
void peer_free(struct peer *p);

/* Returns the events for poll(2) to wait for. */
short peer_events(const struct peer *p);
void peer_receive(struct peer *p);
void peer_send(struct peer *p);
static inline bool peer_has_output(const struct peer *p)
{
	return p->out_sent_bytes < p->out.len_bytes;
}

/* Returns the next request, if it is complete and the previous one is answered. Its data is valid
 * until peer_next_done. */
bool peer_next(struct peer *p, struct wire_frame *ret, size_t *ret_used);
void peer_next_done(struct peer *p, size_t used);

void peer_answer(struct peer *p, const struct wire_frame *frame);
void peer_answer_bytes(struct peer *p, const void *data, size_t len_bytes);
/* Takes ERR. */
void peer_answer_error(struct peer *p, struct hv_err *err);
void peer_note(struct peer *p, const char *text);

/* Returns a free slot, or -1 when all are in use. The slot is free until the caller sets its
 * path. */
int peer_free_slot(struct peer *p);
/* NULL: HANDLE is not open. */
struct peer_file *peer_file(struct peer *p, uint32_t handle);
/* False: too many requests wait already. */
bool peer_add_wait(struct peer *p, const struct peer_wait *wait);
void peer_drop_wait(struct peer *p, size_t index);
