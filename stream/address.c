/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/address.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define V4_AT 12

static const uint8_t v4_prefix[V4_AT] = {[10] = 0xff, [11] = 0xff};

struct hv_stream_address hv_stream_address_v4(uint32_t network_order)
{
	struct hv_stream_address a;

	memcpy(a.bytes, v4_prefix, V4_AT);
	memcpy(a.bytes + V4_AT, &network_order, sizeof(network_order));
	return a;
}

struct hv_stream_address hv_stream_address_of(const struct sockaddr_storage *s)
{
	struct hv_stream_address a;

	if (s->ss_family == AF_INET)
		return hv_stream_address_v4(((const struct sockaddr_in *)s)->sin_addr.s_addr);
	memcpy(a.bytes, &((const struct sockaddr_in6 *)s)->sin6_addr, sizeof(a.bytes));
	return a;
}

void hv_stream_address_text(const struct hv_stream_address *a, char ret[HV_STREAM_ADDRESS_LEN])
{
	if (memcmp(a->bytes, v4_prefix, V4_AT) == 0)
		inet_ntop(AF_INET, a->bytes + V4_AT, ret, HV_STREAM_ADDRESS_LEN);
	else
		inet_ntop(AF_INET6, a->bytes, ret, HV_STREAM_ADDRESS_LEN);
}

bool hv_stream_network_parse(const char *text, struct hv_stream_network *ret)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char address[HV_STREAM_ADDRESS_LEN];
	struct hv_stream_network n;
	unsigned max = 128;
	unsigned long bits;
	struct in_addr v4;
	char *end;

	if (len >= sizeof(address))
		return false;
	memcpy(address, text, len);
	address[len] = '\0';
	if (inet_pton(AF_INET, address, &v4) == 1) {
		n.address = hv_stream_address_v4(v4.s_addr);
		max = 32;
	} else if (inet_pton(AF_INET6, address, n.address.bytes) != 1) {
		return false;
	}
	bits = max;
	if (slash) {
		bits = strtoul(slash + 1, &end, 10);
		if (slash[1] < '0' || slash[1] > '9' || *end || bits > max)
			return false;
	}
	n.nr_bits = 128 - max + (unsigned)bits;
	*ret = n;
	return true;
}

bool hv_stream_network_has(const struct hv_stream_network *n, const struct hv_stream_address *a)
{
	unsigned nr = n->nr_bits / 8, rest = n->nr_bits % 8;
	uint8_t mask = (uint8_t)(0xff00u >> rest);

	if (memcmp(n->address.bytes, a->bytes, nr) != 0)
		return false;
	return !rest || ((n->address.bytes[nr] ^ a->bytes[nr]) & mask) == 0;
}
