/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The protocol between clients and a service: frames with a fixed-size head and at most
 * WIRE_DATA_MAX bytes of data. The service handles requests in order. It answers each with any
 * number of WIRE_NOTE and then one WIRE_OK or WIRE_ERROR, which carry the request's tag. A request
 * that has to wait is answered when it is ready; later requests may be answered before it. The
 * operations correspond to tree/tree.h.
 *
 *      0        4        6      8        12       16       20       24
 *      | bytes  | version| kind | handle | arg    | wait_ms| tag    | data ...
 *
 * frames.h encodes and decodes frames, conn.h sends them for all clients, cli/service/peer.h for the
 * service, and cli/service/requests.h has the operations. */
#pragma once

#include <stdint.h>

#include "base/bytes.h"

#define WIRE_VERSION	  3
#define WIRE_HEAD_LEN	  24
#define WIRE_DATA_MAX	  (256u << 10)
#define WIRE_PATH_MAX	  4096 /* PATH_MAX, with the NUL */
#define WIRE_WAIT_FOREVER UINT32_MAX
#define WIRE_NO_LIMIT	  UINT32_MAX

enum wire_kind {
	WIRE_LIST = 1, /* data: a directory; answer data: names */
	WIRE_OPEN,     /* arg: O_* flags, data: path; answer handle */
	WIRE_READ,  /* handle, arg: bytes wanted, wait_ms, data: an offset (u64), or empty: continue
		       after the last read; answer data: empty at the end of the file */
	WIRE_WRITE, /* handle, data; answer arg: bytes taken; arg 1: take all, with as many writes
		       as needed */
	WIRE_CLOSE, /* handle */
	WIRE_STAT,  /* answer data: JSON */
	WIRE_DETACH,
	WIRE_OWN,	/* the session ends with this connection */
	WIRE_READY,	/* handle, wait_ms; answered when a read would not block, or with EAGAIN */
	WIRE_CANCEL,	/* arg: tag of a waiting request, which is answered with EINTR */
	WIRE_ABANDON,	/* handle: close and discard unpublished writes */
	WIRE_PUBLISH,	/* handle: publish like close, but keep the file open */
	WIRE_LOOK,	/* data: path; answer arg: mode (st_mode) */
	WIRE_MKDIR,	/* data: path; arg 1: remove it when this connection ends */
	WIRE_RMDIR,	/* data: path */
	WIRE_OPEN_PROC, /* data: a file of the guest's /proc; answer handle */
	WIRE_MOUNT,	/* data: the directory where this client mounted the tree */
	WIRE_BUDGET,  /* arg: the limit for the part of a vCPU's time that tracing takes while this
			client is connected, in parts per million; WIRE_NO_LIMIT: only measure */
	WIRE_WATCH,   /* this client only watches: it does not keep an idle session alive, and the
			cost of tracing is measured for the next two minutes */
	WIRE_PROGRAM, /* arg: a task; answer data: the code it has mapped (service/programs.h) */
	WIRE_FUNCTIONS, /* data: a file and offsets in it; answer data: functions there */
	WIRE_DEFINE, /* data: a line of dynamic_events, LETTER:GROUP/NAME ...: defines an event that
			   does not exist; it is removed when this connection ends. -:GROUP/NAME:
			   removes it now */
	WIRE_PAGES,  /* arg: a task; data: a file; answer data: pages of it (service/programs.h) */
	WIRE_MEMORY, /* arg: bytes wanted, data: an address of the guest's kernel (u64); answer data:
			the bytes up to the first one that cannot be read */
	WIRE_PERCPU, /* arg: a CPU, data: the address of a per-CPU variable (u64); answer data: the
			address of that CPU's copy (u64) */
	WIRE_OK = 0x80,
	WIRE_ERROR, /* arg: errno, data: message, handle: offset of the reason in the message
		       (base/err.h) */
	WIRE_NOTE,  /* data: a line for the user; the answer follows later */
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
