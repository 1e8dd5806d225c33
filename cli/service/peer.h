/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The service's side of a client connection: a non-blocking socket with bounded buffers, and the
 * client's open files. Receives no more once a frame is complete, and handles no request until the
 * previous answer is sent completely. So neither buffer grows far beyond one frame. requests.h
 * performs requests; serve.h schedules them. */
#pragma once

#include <sys/socket.h>

#include "base/shared_text.h"
#include "cli/audit.h"
#include "cli/service/policy.h"
#include "cli/service/frames.h"
#include "tree/tree.h"

#define PEER_FILES_MAX 1024
#define PEER_WAITS_MAX 1024

struct peer_file {
	char *path;	      /* owned; NULL: the handle is free */
	struct hv_file *file; /* owned; NULL: TEXT is the whole file, from the guest's /proc */
	/* A FILE that is also open for writing cannot be reread from its beginning. Rereads use
	 * this second open file of the same path. Owned, or NULL. */
	struct hv_file *again;
	const struct hv_shared_text *text; /* owned, or NULL */
	int flags;
	uint64_t pos; /* offset of the next byte to read */
};

struct peer_wait {	     /* a request that waits for data */
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
	bool is_root; /* may do everything; access_admits() sets it and the rights */
	struct policy_rights rights;
	struct hv_rights may; /* RIGHTS in the form that the tree checks; open files borrow it */
	char *name;	      /* owned; may.who, unless the client is root */
	size_t files_max;     /* limit for open files */
	size_t waits_max;
	struct hv_text in;
	struct hv_text out;
	size_t out_sent_bytes;
	struct peer_file *files; /* owned */
	size_t nr_files;	 /* one for each handle */
	struct peer_wait *waits; /* owned */
	size_t nr_waits;
	uint32_t tag;		   /* tag of the request being answered */
	uint64_t max_overhead_ppm; /* limit for the cost of tracing while this client is connected;
				      0: no limit */
	char *mount_dir;	   /* owned; where this client mounted the tree, or NULL */
	bool owns_session;	   /* the session ends with this connection */
	bool reads_memory;	   /* has read the guest's memory */
	bool only_watches;	   /* does not keep an idle session alive (--idle) */
	uint64_t number;	   /* order of connection */
	bool is_extra; /* above the limit: may only detach; other requests get an error */
	bool leaves;   /* close after its answers are sent */
	bool gone;     /* closed or broken: drop it */
};

/* Accepts the next connection of LISTEN_FD from any process. NULL: no connection is pending. */
struct peer *peer_accept(int listen_fd);
/* Like peer_accept(), for the open connection FD, which it takes. */
struct peer *peer_of(int fd);
/* The caller closes the peer's files first. */
void peer_free(struct peer *p);

/* Returns the events to poll(2) for. */
short peer_events(const struct peer *p);
void peer_receive(struct peer *p);
void peer_send(struct peer *p);
static inline bool peer_has_output(const struct peer *p)
{
	return p->out_sent_bytes < p->out.len_bytes;
}

/* Returns the next request if it is complete and the previous one is answered. Its data is valid
 * until peer_next_done. */
bool peer_next(struct peer *p, struct wire_frame *ret, size_t *ret_used);
void peer_next_done(struct peer *p, size_t used);

void peer_answer(struct peer *p, const struct wire_frame *frame);
void peer_answer_bytes(struct peer *p, const void *data, size_t len_bytes);
/* Takes ERR. */
void peer_answer_error(struct peer *p, struct hv_err *err);
void peer_note(struct peer *p, const char *text);

/* Returns a free handle, or -1 if all are in use. The handle remains free until the caller sets its
 * path. */
int peer_free_handle(struct peer *p);
/* Returns NULL if HANDLE is not open. */
struct peer_file *peer_file(struct peer *p, uint32_t handle);
/* Returns false if too many requests wait already. */
bool peer_add_wait(struct peer *p, const struct peer_wait *wait);
void peer_drop_wait(struct peer *p, size_t index);
