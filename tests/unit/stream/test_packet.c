/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Valid packets, and packets with wrong lengths. */
#include <arpa/inet.h>
#include <check.h>
#include <stdlib.h>

#include "base/guard.h"
#include "stream/inet.h"
#include "tests/lib/run_suite.h"

#define DATA "a datagram"

static uint8_t packet[HV_STREAM_V4_HEADERS_LEN + sizeof(DATA)];

static struct hv_span make(void)
{
	const struct hv_stream_route route = {
		.from = htonl(0x0a630001),
		.to = htonl(0x0a630002),
		.from_port = htons(1000),
		.to_port = htons(9912),
	};

	hv_stream_packet_write(packet, &route, sizeof(DATA));
	memcpy(packet + HV_STREAM_V4_HEADERS_LEN, DATA, sizeof(DATA));
	return (struct hv_span){packet, sizeof(packet)};
}

START_TEST(packets_come_back)
{
	char text[HV_STREAM_ADDRESS_LEN];
	struct hv_stream_address from;
	struct hv_span got;
	uint32_t sum = 0;

	ck_assert(hv_stream_packet_read(make(), &from, &got));
	ck_assert_uint_eq(got.len_bytes, sizeof(DATA));
	ck_assert_mem_eq(got.data, DATA, sizeof(DATA));
	hv_stream_address_text(&from, text);
	ck_assert_str_eq(text, "10.99.0.1");
	/* with a correct IP checksum the sum of all words is 0xffff */
	for (unsigned i = 14; i < 34; i += 2)
		sum += (uint32_t)packet[i] << 8 | packet[i + 1];
	ck_assert_uint_eq((sum & 0xffff) + (sum >> 16), 0xffff);
}
END_TEST

START_TEST(wrong_packets)
{
	static const struct {
		unsigned at;
		uint8_t value;
	} wrong[] = {
		{12, 0x09}, /* not IP */
		{14, 0x55}, /* another version of IP */
		{14, 0x44}, /* a header that is too short */
		{14, 0x4f}, /* a header that is too long */
		{20, 0x20}, /* a fragment */
		{21, 1},    /* a later fragment */
		{23, 6},    /* TCP */
		{38, 1},    /* datagram too long */
		{39, 7},    /* shorter than its header */
		{39, 100},
	};
	struct hv_stream_address from;
	struct hv_span got;

	for (size_t i = 0; i < HV_ARRAY_LEN(wrong); i++) {
		make();
		packet[wrong[i].at] = wrong[i].value;
		ck_assert_msg(!hv_stream_packet_read((struct hv_span){packet, sizeof(packet)},
						     &from, &got),
			      "%zu", i);
	}
	/* a truncated packet; the sanitizer sees reads beyond its end */
	for (size_t len = 0; len < sizeof(packet); len++) {
		uint8_t *copy = hv_alloc(len);

		make();
		memcpy(copy, packet, len);
		ck_assert(!hv_stream_packet_read((struct hv_span){copy, len}, &from, &got));
		free(copy);
	}
}
END_TEST

START_TEST(packets_of_ipv6)
{
	uint8_t v6[14 + 40 + 8 + 4] = {[12] = 0x86, [13] = 0xdd, [14] = 0x60, [20] = 17,
				       [22] = 0xfd, [37] = 1,	 [59] = 12,   [62] = 'x'};
	char text[HV_STREAM_ADDRESS_LEN];
	struct hv_stream_address from;
	struct hv_span got;

	ck_assert(hv_stream_packet_read((struct hv_span){v6, sizeof(v6)}, &from, &got));
	ck_assert_uint_eq(got.len_bytes, 4);
	ck_assert_uint_eq(got.data[0], 'x');
	hv_stream_address_text(&from, text);
	ck_assert_str_eq(text, "fd00::1");
	for (size_t len = 0; len < sizeof(v6); len++)
		ck_assert(!hv_stream_packet_read((struct hv_span){v6, len}, &from, &got));
	v6[20] = 44; /* a fragment header */
	ck_assert(!hv_stream_packet_read((struct hv_span){v6, sizeof(v6)}, &from, &got));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, packets_come_back);
	tcase_add_test(tc, wrong_packets);
	tcase_add_test(tc, packets_of_ipv6);
}

int main(void)
{
	return run_suite("stream_packet", add_tests);
}
