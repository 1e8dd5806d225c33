/* One client of a service, seen from the service: a non-blocking socket with bounded buffers, and
 * the files it has open. Input beyond one frame is left in the socket, and no request is taken
 * while an answer is still on its way out, so neither buffer grows beyond one frame.
 * Leaves to others: what a request does (requests.h), when to ask (serve.h). */
#pragma once

#include <sys/socket.h>

#include "cli/wire.h"
#include "tracer/tree.h"

#define PEER_FILES_MAX 64

struct peer_file {
	struct hv_file *file; /* owned; NULL: free slot */
	char *path;	      /* owned */
};

struct peer_wait { /* a read that found nothing yet */
	bool active;
	uint32_t handle;
	uint32_t want_bytes;
	uint64_t until_ns;
};

struct peer {
	int fd;
	struct ucred cred;
	struct hv_text in;
	struct hv_text out;
	size_t out_sent_bytes;
	struct peer_file files[PEER_FILES_MAX];
	struct peer_wait wait;
	bool owns_session; /* the session ends when the connection does */
	bool gone;	   /* closed or broken: to be dropped */
};

/* Takes the next connection of LISTEN_FD; NULL when there is none. */
struct peer *peer_accept(int listen_fd);
/* Files must be closed before. */
void peer_free(struct peer *p);

/* What poll(2) shall wait for. */
short peer_events(const struct peer *p);
void peer_receive(struct peer *p);
void peer_send(struct peer *p);
static inline bool peer_has_output(const struct peer *p)
{
	return p->out_sent_bytes < p->out.len_bytes;
}

/* The next request, if one is whole and the one before is answered. Its data is good until
 * peer_next_done. */
bool peer_next(struct peer *p, struct wire_frame *ret, size_t *ret_used);
void peer_next_done(struct peer *p, size_t used);

void peer_answer(struct peer *p, const struct wire_frame *frame);
void peer_answer_bytes(struct peer *p, const void *data, size_t len_bytes);
/* Takes ERR. */
void peer_answer_error(struct peer *p, struct hv_err *err);
void peer_note(struct peer *p, const char *text);

/* Slot of a file, or -1 when all are in use. Takes FILE on success. */
int peer_add_file(struct peer *p, struct hv_file *file, const char *path);
/* NULL: no such handle. */
struct peer_file *peer_file(struct peer *p, uint32_t handle);
