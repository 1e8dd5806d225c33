/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of trace_marker by number, with limits for number and bytes. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tracer/events/decoder.h"

static const char page[4096] = {'p'};

START_TEST(are_found_by_number)
{
	struct hv_marks m = {0};
	uint64_t one = hv_marks_add(&m, 7, "one", 3), none = hv_marks_add(&m, 8, NULL, 0);

	ck_assert_uint_eq(hv_marks_find(&m, one)->len_bytes, 3);
	ck_assert_int_eq(memcmp(hv_marks_find(&m, one)->bytes, "one", 3), 0);
	ck_assert_uint_eq(hv_marks_find(&m, one)->kind, 7);
	ck_assert_uint_eq(hv_marks_find(&m, none)->len_bytes, 0);
	ck_assert_ptr_null(hv_marks_find(&m, none + 1));
	ck_assert_ptr_null(hv_marks_find(&m, UINT64_MAX));
	hv_marks_deinit(&m);
	ck_assert_ptr_null(hv_marks_find(&m, one));
}
END_TEST

START_TEST(the_oldest_are_forgotten)
{
	struct hv_marks m = {0};
	uint64_t first = hv_marks_add(&m, 0, "x", 1), last = 0;

	for (unsigned i = 0; i < HV_MARKS_MAX; i++)
		last = hv_marks_add(&m, 0, "y", 1);
	ck_assert_ptr_null(hv_marks_find(&m, first));
	ck_assert_ptr_nonnull(hv_marks_find(&m, first + 1));
	ck_assert_ptr_nonnull(hv_marks_find(&m, last));
	hv_marks_deinit(&m);
}
END_TEST

START_TEST(bytes_are_bounded)
{
	struct hv_marks m = {0};
	uint64_t last = 0;

	for (unsigned i = 0; i < 2 * HV_MARKS_BYTES_MAX / sizeof(page); i++) {
		last = hv_marks_add(&m, 0, page, sizeof(page));
		ck_assert_uint_le(m.nr_bytes, HV_MARKS_BYTES_MAX);
	}
	ck_assert_ptr_nonnull(hv_marks_find(&m, last - HV_MARKS_BYTES_MAX / sizeof(page) + 1));
	ck_assert_ptr_null(hv_marks_find(&m, last - HV_MARKS_BYTES_MAX / sizeof(page)));
	hv_marks_deinit(&m);
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
	return run_suite("marks", add_tests);
}
