/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "cli/service/frames.h"
#include "tests/lib/run_suite.h"

static struct hv_span span_of(const struct hv_text *t, size_t len)
{
	return (struct hv_span){(const uint8_t *)t->data, len};
}

START_TEST(frame_comes_back_as_it_was)
{
	struct wire_frame in = {
		.kind = WIRE_READ,
		.handle = 3,
		.arg = 4096,
		.wait_ms = WIRE_WAIT_FOREVER,
		.tag = 77,
		.data = {(const uint8_t *)"abc", 3},
	};
	HV_AUTO_TEXT struct hv_text t = {0};
	struct wire_frame out;
	size_t used;

	wire_encode(&t, &in);
	ck_assert_uint_eq(t.len_bytes, WIRE_HEAD_LEN + 3);
	ck_assert_int_eq(wire_decode(span_of(&t, t.len_bytes), &out, &used), WIRE_FRAME);
	ck_assert_uint_eq(used, t.len_bytes);
	ck_assert_uint_eq(out.version, WIRE_VERSION);
	ck_assert_uint_eq(out.kind, WIRE_READ);
	ck_assert_uint_eq(out.handle, 3);
	ck_assert_uint_eq(out.arg, 4096);
	ck_assert_uint_eq(out.wait_ms, WIRE_WAIT_FOREVER);
	ck_assert_uint_eq(out.tag, 77);
	ck_assert_mem_eq(out.data.data, "abc", 3);
	ck_assert_uint_eq(out.data.len_bytes, 3);
}
END_TEST

START_TEST(every_cut_of_a_frame_wants_more)
{
	HV_AUTO_TEXT struct hv_text t = {0};
	struct wire_frame frame;
	size_t used;

	wire_encode(&t, &(struct wire_frame){.kind = WIRE_OPEN,
					     .data = {(const uint8_t *)"trace_pipe", 10}});
	for (size_t len = 0; len < t.len_bytes; len++)
		ck_assert_int_eq(wire_decode(span_of(&t, len), &frame, &used), WIRE_MORE);
}
END_TEST

START_TEST(two_frames_are_taken_one_by_one)
{
	HV_AUTO_TEXT struct hv_text t = {0};
	struct wire_frame frame;
	size_t used;

	wire_encode(&t, &(struct wire_frame){.kind = WIRE_STAT});
	wire_encode(&t, &(struct wire_frame){.kind = WIRE_DETACH});
	ck_assert_int_eq(wire_decode(span_of(&t, t.len_bytes), &frame, &used), WIRE_FRAME);
	ck_assert_uint_eq(frame.kind, WIRE_STAT);
	ck_assert_uint_eq(used, WIRE_HEAD_LEN);
}
END_TEST

static enum wire_result decode_len(uint32_t len)
{
	uint8_t bytes[WIRE_HEAD_LEN] = {0};
	struct wire_frame frame;
	size_t used;

	memcpy(bytes, &len, sizeof(len));
	return wire_decode((struct hv_span){bytes, sizeof(bytes)}, &frame, &used);
}

START_TEST(lengths_are_bounded)
{
	ck_assert_int_eq(decode_len(0), WIRE_BAD);
	ck_assert_int_eq(decode_len(WIRE_HEAD_LEN - 1), WIRE_BAD);
	ck_assert_int_eq(decode_len(WIRE_HEAD_LEN), WIRE_FRAME);
	ck_assert_int_eq(decode_len(WIRE_HEAD_LEN + WIRE_DATA_MAX), WIRE_MORE);
	ck_assert_int_eq(decode_len(WIRE_HEAD_LEN + WIRE_DATA_MAX + 1), WIRE_BAD);
	ck_assert_int_eq(decode_len(UINT32_MAX), WIRE_BAD);
}
END_TEST

START_TEST(strings_are_bounded_and_whole)
{
	HV_AUTO_FREE char *s = NULL;

	ck_assert(!wire_string((struct hv_span){(const uint8_t *)"a\0b", 3}, 10, &s));
	ck_assert(!wire_string((struct hv_span){(const uint8_t *)"abc", 3}, 2, &s));
	ck_assert(wire_string((struct hv_span){(const uint8_t *)"abc", 3}, 3, &s));
	ck_assert_str_eq(s, "abc");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, frame_comes_back_as_it_was);
	tcase_add_test(tc, every_cut_of_a_frame_wants_more);
	tcase_add_test(tc, two_frames_are_taken_one_by_one);
	tcase_add_test(tc, lengths_are_bounded);
	tcase_add_test(tc, strings_are_bounded_and_whole);
}

int main(void)
{
	return run_suite("wire", add_tests);
}
