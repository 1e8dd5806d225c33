/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An AF_XDP socket and its own packet memory. The memory consists of chunks; four rings pass their
 * ownership between kernel and process. */
#pragma once

#include <xdp/xsk.h>

#include "base/err.h"

#define HV_XSK_CHUNKS	   4096u
#define HV_XSK_CHUNK_BYTES 4096u
#define HV_XSK_RING_LEN	   2048u

struct hv_xsk {
	struct xsk_umem *umem;	   /* owned */
	struct xsk_socket *socket; /* owned */
	uint8_t *area;		   /* owned; HV_XSK_CHUNKS chunks */
	struct xsk_ring_prod fill;
	struct xsk_ring_cons completion;
	struct xsk_ring_cons rx;
	struct xsk_ring_prod tx;
};

enum hv_xsk_use { HV_XSK_TAKES, HV_XSK_SENDS };

/* Opens a socket on QUEUE of device DEV. */
struct hv_err *hv_xsk_open(struct hv_xsk *x, const char *dev, unsigned queue,
			   enum hv_xsk_use use) hv_must_use;
/* A zeroed X counts as closed. */
void hv_xsk_close(struct hv_xsk *x);
int hv_xsk_fd(const struct hv_xsk *x);
