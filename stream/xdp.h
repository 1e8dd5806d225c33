/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends and receives UDP frames through AF_XDP sockets (libxdp). Packets bypass the kernel's
 * network stack: device and process share packet memory.
 *
 * The functions fail without side effects if AF_XDP is unavailable: no such device, no permission,
 * another XDP program on the device, or no support in the kernel or this build. The caller then
 * uses the sockets of in.h and out.h.
 *
 * One thread. */
#pragma once

#include "stream/in.h"
#include "stream/out.h"

/* Receives the datagrams for AT that arrive on device DEV. Opens one socket for each queue and
 * attaches an XDP program, which the kernel detaches when this process exits. Other packets pass to
 * the kernel. */
struct hv_err *hv_stream_in_xdp(const char *dev, const struct hv_stream_at *at,
				struct hv_stream_in **ret) hv_must_use;
/* Sends to TO, an IPv4 address on the network of DEV. */
struct hv_err *hv_stream_out_xdp(const char *dev, const struct hv_stream_target *to,
				 struct hv_stream_out **ret) hv_must_use;
