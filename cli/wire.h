/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocol between clients and a service: frames with a head of fixed size and at most
 * WIRE_DATA_MAX bytes of data. The service does requests in the order in which they come. It
 * answers each with any number of WIRE_NOTE and then one WIRE_OK or WIRE_ERROR, which carry the tag
 * of the request. A request that waits is answered when it is ready; later ones may be answered
 * before it. The operations are those of tree/tree.h.
 *
 *      0        4        6      8        12       16       20       24
 *      | bytes  | version| kind | handle | arg    | wait_ms| tag    | data ...
 *
 * Pure: turns bytes into frames and back. Leaves to others: sockets (peer.h, client.h), what a
 * request does (requests.h). */
#pragma once

#include <stdint.h>

#include "base/bytes.h"
#include "base/text.h"

#define WIRE_VERSION	  3
#define WIRE_HEAD_LEN	  24
#define WIRE_DATA_MAX	  (256u << 10)
#define WIRE_WAIT_FOREVER UINT32_MAX
#define WIRE_NO_LIMIT	  UINT32_MAX

enum wire_kind {
	WIRE_LIST = 1, /* data: a directory; answer data: names */
	WIRE_OPEN,     /* arg: O_* flags, data: path; answer handle */
	WIRE_READ,  /* handle, arg: bytes wanted, wait_ms, data: an offset (u64), or nothing: go on
		       after the last read; answer data, none at the end of the file */
	WIRE_WRITE, /* handle, data; answer arg: bytes taken; arg 1: all, by as many writes */
	WIRE_CLOSE, /* handle */
	WIRE_STAT,  /* answer data: JSON */
	WIRE_DETACH,
	WIRE_OWN,	/* the session ends with this connection */
	WIRE_READY,	/* handle, wait_ms; answered when a read would not wait, or with EAGAIN */
	WIRE_CANCEL,	/* arg: tag of a request that waits, which is answered with EINTR */
	WIRE_ABANDON,	/* handle: close without publishing what was written */
	WIRE_PUBLISH,	/* handle: publish what close would, but keep the file open */
	WIRE_LOOK,	/* data: path; answer arg: mode (st_mode) */
	WIRE_MKDIR,	/* data: path; arg 1: it shall go with this connection */
	WIRE_RMDIR,	/* data: path */
	WIRE_OPEN_PROC, /* data: a file of the guest's /proc; answer handle */
	WIRE_MOUNT,	/* data: the directory where this client has mounted the tree */
	WIRE_BUDGET,	/* arg: the part of a vCPU's time that tracing may take while this client is
			   connected, in parts per million; WIRE_NO_LIMIT: it is only measured */
	WIRE_WATCH,	/* this client only watches: the session is idle all the same, and what
			   tracing takes is measured for the next two minutes */
	WIRE_OK = 0x80,
	WIRE_ERROR, /* arg: errno, data: message, handle: where its reason begins (base/err.h)
		     */
	WIRE_NOTE,  /* data: a line for the user; the answer comes later */
};

struct wire_frame {
	uint16_t version;
	uint16_t kind;
	uint32_t handle;
	uint32_t arg;
	uint32_t wait_ms;
	uint32_t tag;	     /* chosen by the client */
	struct hv_span data; /* borrowed */
};

enum wire_result {
	WIRE_MORE,  /* the frame is not whole yet */
	WIRE_FRAME, /* *ret is a frame of *ret_used bytes */
	WIRE_BAD,   /* not a frame; what follows cannot be understood */
};

/* Decodes the first frame of IN. Its data points into IN. */
enum wire_result wire_decode(struct hv_span in, struct wire_frame *ret, size_t *ret_used);

/* Appends FRAME and fills in the version. FRAME has at most WIRE_DATA_MAX bytes of data. */
void wire_encode(struct hv_text *out, const struct wire_frame *frame);

/* Copies DATA as a string. False: DATA has a NUL or is longer than MAX_BYTES. The caller owns
 * *RET. */
bool wire_string(struct hv_span data, size_t max_bytes, char **ret);
