/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packets of Ethernet, IP and UDP, which an AF_XDP socket takes and sends as they are. A packet
 * that came is hostile. Leaves to others: what is in the datagram (frame.h). Pure. */
#pragma once

#include "base/bytes.h"
#include "stream/address.h"

#define HV_STREAM_MAC_LEN	 6
#define HV_STREAM_V4_HEADERS_LEN 42 /* of Ethernet, IPv4 and UDP */

/* Finds the datagram in PACKET. False: it has none, or one that is not whole. RET borrows PACKET.
 */
bool hv_stream_packet_read(struct hv_span packet, struct hv_stream_address *ret_from,
			   struct hv_span *ret);

/* From where to where packets of IPv4 go. Addresses and ports are in network order. */
struct hv_stream_route {
	uint8_t from_mac[HV_STREAM_MAC_LEN];
	uint8_t to_mac[HV_STREAM_MAC_LEN];
	uint32_t from;
	uint32_t to;
	uint16_t from_port;
	uint16_t to_port;
};

/* Writes the headers of a datagram of LEN_BYTES, which follows them. */
void hv_stream_packet_write(uint8_t at[HV_STREAM_V4_HEADERS_LEN],
			    const struct hv_stream_route *route, size_t len_bytes);
