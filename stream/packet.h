/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses and builds the Ethernet, IP and UDP headers of AF_XDP packets. Received packets are
 * untrusted. Pure. */
#pragma once

#include "base/bytes.h"
#include "stream/address.h"

#define HV_STREAM_MAC_LEN	 6
#define HV_STREAM_V4_HEADERS_LEN 42 /* length of the Ethernet, IPv4 and UDP headers */

/* Finds the UDP payload of PACKET. Returns false if PACKET is not a complete UDP packet. RET
 * borrows PACKET. */
bool hv_stream_packet_read(struct hv_span packet, struct hv_stream_address *ret_from,
			   struct hv_span *ret);

/* Source and destination of IPv4 packets. Addresses and ports are in network byte order. */
struct hv_stream_route {
	uint8_t from_mac[HV_STREAM_MAC_LEN];
	uint8_t to_mac[HV_STREAM_MAC_LEN];
	uint32_t from;
	uint32_t to;
	uint16_t from_port;
	uint16_t to_port;
};

/* Writes the headers for a UDP payload of LEN_BYTES that follows them. */
void hv_stream_packet_write(uint8_t at[HV_STREAM_V4_HEADERS_LEN],
			    const struct hv_stream_route *route, size_t len_bytes);
