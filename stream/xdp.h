/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames of UDP by AF_XDP sockets (libxdp): packets go between a network device and memory that the
 * kernel shares with this process, past the kernel's network code. An error says why that is
 * impossible here (no such device, no permission, another program at the device, a kernel or a
 * build without it), and nothing has changed then: use sockets. Leaves to others: sockets (in.h,
 * out.h).
 *
 * One thread. */
#pragma once

#include "stream/in.h"
#include "stream/out.h"

/* Takes the datagrams for AT that come by the device DEV, by one socket for each of its queues, and
 * a program of ours at the device, which goes with this process. All else goes to the kernel. */
struct hv_err *hv_stream_in_xdp(const char *dev, const struct hv_stream_at *at,
				struct hv_stream_in **ret) hv_must_use;
/* Sends to TO, an address of IPv4 on the link of DEV. */
struct hv_err *hv_stream_out_xdp(const char *dev, const struct hv_stream_target *to,
				 struct hv_stream_out **ret) hv_must_use;
