/* What the command line and a service say to each other over the socket: frames of one fixed head
 * and at most WIRE_DATA_MAX bytes. Requests are done in the order they come; each is answered by
 * any number of WIRE_NOTE and then one WIRE_OK or WIRE_ERROR, which carry the request's tag. Those
 * that wait are answered when they are ready, later ones meanwhile. Operations are those of
 * tree/tree.h.
 *
 *     0        4        6      8        12       16       20       24
 *     | bytes  | version| kind | handle | arg    | wait_ms| tag    | data ...
 *
 * Pure: bytes in, frames out. Leaves to others: sockets (peer.h, client.h), what a request does
 * (requests.h). */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "base/text.h"

#define WIRE_VERSION	  2
#define WIRE_HEAD_LEN	  24
#define WIRE_DATA_MAX	  (256u << 10)
#define WIRE_WAIT_FOREVER UINT32_MAX

enum wire_kind {
	WIRE_LIST = 1, /* data: a directory; answer data: names */
	WIRE_OPEN,     /* arg: O_* flags, data: path; answer handle */
	WIRE_READ,  /* handle, arg: bytes wanted, wait_ms: for how long, data: an offset (u64), or
		       nothing: where the last read ended; answer data, none at the end */
	WIRE_WRITE, /* handle, data; answer arg: bytes taken */
	WIRE_CLOSE, /* handle */
	WIRE_STAT,  /* answer data: JSON */
	WIRE_DETACH,
	WIRE_OWN,	/* the session shall end with this connection */
	WIRE_READY,	/* handle, wait_ms; answered when a read would not wait, else EAGAIN */
	WIRE_CANCEL,	/* arg: tag of a request that waits; that one is answered EINTR */
	WIRE_ABANDON,	/* handle: closed; what it was told and is not published yet never is */
	WIRE_PUBLISH,	/* handle: what close would publish is, and the file stays open */
	WIRE_LOOK,	/* data: path; answer arg: mode (st_mode) */
	WIRE_MKDIR,	/* data: path */
	WIRE_RMDIR,	/* data: path */
	WIRE_OPEN_PROC, /* data: a file of the guest's /proc; answer handle */
	WIRE_MOUNT,	/* data: where this connection's client has mounted the tree */
	WIRE_OK = 0x80,
	WIRE_ERROR, /* arg: errno, data: message, handle: where its reason begins (base/err.h) */
	WIRE_NOTE,  /* data: a line for the user; the answer still follows */
};

struct wire_frame {
	uint16_t version;
	uint16_t kind;
	uint32_t handle;
	uint32_t arg;
	uint32_t wait_ms;
	uint32_t tag;	     /* the client's choice */
	struct hv_span data; /* borrowed */
};

enum wire_result {
	WIRE_MORE,  /* the frame is not whole yet */
	WIRE_FRAME, /* *ret is one, of *ret_used bytes */
	WIRE_BAD,   /* this is no frame of ours, nothing after it can be understood */
};

/* The first frame of IN. Its data points into IN. */
enum wire_result wire_decode(struct hv_span in, struct wire_frame *ret, size_t *ret_used);

/* Appends FRAME; version is filled in. Its data is at most WIRE_DATA_MAX bytes. */
void wire_encode(struct hv_text *out, const struct wire_frame *frame);

/* A string out of a frame: false when it has a NUL in it or is longer than MAX. *RET is
 * owned by the caller. */
bool wire_string(struct hv_span data, size_t max_bytes, char **ret);
