/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internet addresses and packets. Pure. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/bytes.h"

/* -- addresses -------------------------------------------------------------------------------- */

/* Addresses of senders, and the networks that a collector accepts. IPv4 addresses are stored as
 * IPv4-mapped IPv6 addresses (::ffff:A.B.C.D). */

struct hv_stream_address {
	uint8_t bytes[16];
};

struct hv_stream_network {
	struct hv_stream_address address;
	unsigned nr_bits; /* length of the network prefix */
};

#define HV_STREAM_ADDRESS_LEN 46 /* buffer size for the text and its NUL */

/* S must be an IPv4 or IPv6 address. */
struct hv_stream_address hv_stream_address_of(const struct sockaddr_storage *s);
struct hv_stream_address hv_stream_address_v4(uint32_t network_order);
void hv_stream_address_text(const struct hv_stream_address *a, char ret[HV_STREAM_ADDRESS_LEN]);
/* Parses ADDRESS or ADDRESS/BITS. Returns false if TEXT is neither. */
bool hv_stream_network_parse(const char *text, struct hv_stream_network *ret);
bool hv_stream_network_has(const struct hv_stream_network *n, const struct hv_stream_address *a);

/* -- packets ---------------------------------------------------------------------------------- */

/* Parses and builds the Ethernet, IP and UDP headers of AF_XDP packets. Received packets are
 * untrusted. */

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
