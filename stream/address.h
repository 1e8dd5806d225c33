/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses of senders, and the networks from which frames are taken. An IPv4 address is the IPv6
 * address ::ffff:A.B.C.D. Pure. */
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
	unsigned nr_bits; /* of it that are the network's */
};

#define HV_STREAM_ADDRESS_LEN 46 /* of the text, with its NUL */

/* S is an address of IPv4 or IPv6. */
struct hv_stream_address hv_stream_address_of(const struct sockaddr_storage *s);
struct hv_stream_address hv_stream_address_v4(uint32_t network_order);
void hv_stream_address_text(const struct hv_stream_address *a, char ret[HV_STREAM_ADDRESS_LEN]);
/* TEXT is ADDRESS or ADDRESS/BITS. False: it is neither. */
bool hv_stream_network_parse(const char *text, struct hv_stream_network *ret);
bool hv_stream_network_has(const struct hv_stream_network *n, const struct hv_stream_address *a);
