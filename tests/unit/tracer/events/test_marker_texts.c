/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of trace_marker by number, with limits for number and bytes. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tracer/events/decoder.h"

static const char page[4096] = {'p'};

START_TEST(are_found_by_number)
{
	struct hv_marker_texts m = {0};
	uint64_t one = hv_marker_texts_add(&m, 7, "one", 3),
		 none = hv_marker_texts_add(&m, 8, NULL, 0);

	ck_assert_uint_eq(hv_marker_texts_find(&m, one)->len_bytes, 3);
	ck_assert_int_eq(memcmp(hv_marker_texts_find(&m, one)->bytes, "one", 3), 0);
	ck_assert_uint_eq(hv_marker_texts_find(&m, one)->kind, 7);
	ck_assert_uint_eq(hv_marker_texts_find(&m, none)->len_bytes, 0);
	ck_assert_ptr_null(hv_marker_texts_find(&m, none + 1));
	ck_assert_ptr_null(hv_marker_texts_find(&m, UINT64_MAX));
	hv_marker_texts_deinit(&m);
	ck_assert_ptr_null(hv_marker_texts_find(&m, one));
}
END_TEST

START_TEST(the_oldest_are_forgotten)
{
	struct hv_marker_texts m = {0};
	uint64_t first = hv_marker_texts_add(&m, 0, "x", 1), last = 0;

	for (unsigned i = 0; i < HV_MARKER_TEXTS_MAX; i++)
		last = hv_marker_texts_add(&m, 0, "y", 1);
	ck_assert_ptr_null(hv_marker_texts_find(&m, first));
	ck_assert_ptr_nonnull(hv_marker_texts_find(&m, first + 1));
	ck_assert_ptr_nonnull(hv_marker_texts_find(&m, last));
	hv_marker_texts_deinit(&m);
}
END_TEST

START_TEST(bytes_are_bounded)
{
	struct hv_marker_texts m = {0};
	uint64_t last = 0;

	for (unsigned i = 0; i < 2 * HV_MARKER_TEXTS_BYTES_MAX / sizeof(page); i++) {
		last = hv_marker_texts_add(&m, 0, page, sizeof(page));
		ck_assert_uint_le(m.nr_bytes, HV_MARKER_TEXTS_BYTES_MAX);
	}
	ck_assert_ptr_nonnull(
		hv_marker_texts_find(&m, last - HV_MARKER_TEXTS_BYTES_MAX / sizeof(page) + 1));
	ck_assert_ptr_null(
		hv_marker_texts_find(&m, last - HV_MARKER_TEXTS_BYTES_MAX / sizeof(page)));
	hv_marker_texts_deinit(&m);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, are_found_by_number);
	tcase_add_test(tc, the_oldest_are_forgotten);
	tcase_add_test(tc, bytes_are_bounded);
}

int main(void)
{
	return run_suite("marker_texts", add_tests);
}
