/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "stream/inet.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* -- addresses -------------------------------------------------------------------------------- */

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

/* -- packets ---------------------------------------------------------------------------------- */

#define ETH_LEN	      14
#define V4_LEN	      20
#define V6_LEN	      40
#define UDP_LEN	      8
#define PROTOCOL_UDP  17
#define TYPE_V4	      0x0800
#define TYPE_V6	      0x86dd
#define TTL	      64
#define DONT_FRAGMENT 0x4000
#define FRAGMENT_BITS 0x3fff /* the MF flag and the fragment offset */

static bool read_u16(struct hv_span s, size_t off, uint16_t *ret)
{
	uint16_t value;

	if (!hv_span_u16(s, off, &value))
		return false;
	*ret = ntohs(value);
	return true;
}

/* Reads the datagram at OFF. Bytes beyond its length are padding. */
static bool read_udp(struct hv_span packet, size_t off, struct hv_span *ret)
{
	uint16_t len;

	if (!read_u16(packet, off + 4, &len) || len < UDP_LEN || !hv_span_has(packet, off, len))
		return false;
	*ret = (struct hv_span){packet.data + off + UDP_LEN, (size_t)len - UDP_LEN};
	return true;
}

static bool read_v4(struct hv_span packet, struct hv_stream_address *ret_from, struct hv_span *ret)
{
	uint8_t first, protocol;
	uint16_t fragment;
	uint32_t from;

	if (!hv_span_u8(packet, ETH_LEN, &first) || !read_u16(packet, ETH_LEN + 6, &fragment) ||
	    !hv_span_u8(packet, ETH_LEN + 9, &protocol) ||
	    !hv_span_u32(packet, ETH_LEN + 12, &from) || first >> 4 != 4 ||
	    (first & 15) * 4 < V4_LEN || fragment & FRAGMENT_BITS || protocol != PROTOCOL_UDP)
		return false;
	*ret_from = hv_stream_address_v4(from);
	return read_udp(packet, ETH_LEN + (size_t)(first & 15) * 4, ret);
}

static bool read_v6(struct hv_span packet, struct hv_stream_address *ret_from, struct hv_span *ret)
{
	uint8_t first, next;

	if (!hv_span_u8(packet, ETH_LEN, &first) || !hv_span_u8(packet, ETH_LEN + 6, &next) ||
	    first >> 4 != 6 || next != PROTOCOL_UDP ||
	    !hv_span_copy(packet, ETH_LEN + 8, ret_from->bytes, sizeof(ret_from->bytes)))
		return false;
	return read_udp(packet, ETH_LEN + V6_LEN, ret);
}

bool hv_stream_packet_read(struct hv_span packet, struct hv_stream_address *ret_from,
			   struct hv_span *ret)
{
	uint16_t type;

	if (!read_u16(packet, 12, &type))
		return false;
	if (type == TYPE_V4)
		return read_v4(packet, ret_from, ret);
	return type == TYPE_V6 && read_v6(packet, ret_from, ret);
}

static void put_u16(uint8_t *at, uint16_t host_order)
{
	uint16_t value = htons(host_order);

	memcpy(at, &value, sizeof(value));
}

/* Returns the IPv4 header checksum. */
static uint16_t checksum(const uint8_t *at)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < V4_LEN; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* Omits the UDP checksum, which is optional in IPv4, because frames carry a hash. */
void hv_stream_packet_write(uint8_t at[HV_STREAM_V4_HEADERS_LEN],
			    const struct hv_stream_route *route, size_t len_bytes)
{
	uint8_t *ip = at + ETH_LEN, *udp = ip + V4_LEN;

	memset(at, 0, HV_STREAM_V4_HEADERS_LEN);
	memcpy(at, route->to_mac, HV_STREAM_MAC_LEN);
	memcpy(at + HV_STREAM_MAC_LEN, route->from_mac, HV_STREAM_MAC_LEN);
	put_u16(at + 12, TYPE_V4);
	ip[0] = 0x45;
	put_u16(ip + 2, (uint16_t)(V4_LEN + UDP_LEN + len_bytes));
	put_u16(ip + 6, DONT_FRAGMENT);
	ip[8] = TTL;
	ip[9] = PROTOCOL_UDP;
	memcpy(ip + 12, &route->from, sizeof(route->from));
	memcpy(ip + 16, &route->to, sizeof(route->to));
	put_u16(ip + 10, checksum(ip));
	memcpy(udp, &route->from_port, sizeof(route->from_port));
	memcpy(udp + 2, &route->to_port, sizeof(route->to_port));
	put_u16(udp + 4, (uint16_t)(UDP_LEN + len_bytes));
}
