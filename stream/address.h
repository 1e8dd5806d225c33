/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of senders, and the networks that a collector accepts. IPv4 addresses are stored as
 * IPv4-mapped IPv6 addresses (::ffff:A.B.C.D). Pure. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

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
