/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Binary search. */
#include "base/bisect.h"

#include <check.h>
#include <stdint.h>
#include <stdlib.h>

#include "tests/lib/run_suite.h"

#define NR 9u

/* Every result for every length, against a linear search. */
START_TEST(finds_the_first_number)
{
	for (unsigned nr = 0; nr <= NR; nr++)
		for (unsigned first = 0; first <= nr; first++)
			ck_assert_uint_eq(HV_BISECT(i, nr, i < first), first);
}
END_TEST

START_TEST(finds_equal_elements)
{
	static const struct {
		uint32_t key;
	} list[] = {{2}, {4}, {4}, {4}, {7}};
	const size_t nr = sizeof(list) / sizeof(list[0]);

	ck_assert_uint_eq(HV_BISECT(i, nr, list[i].key < 4), 1);
	ck_assert_uint_eq(HV_BISECT(i, nr, list[i].key <= 4), 4);
	ck_assert_uint_eq(HV_BISECT(i, nr, list[i].key < 2), 0);
	ck_assert_uint_eq(HV_BISECT(i, nr, list[i].key <= 7), 5);
}
END_TEST

/* With the largest numbers, whose sum overflows. */
START_TEST(finds_large_numbers)
{
	const uint64_t first = UINT64_MAX - 3;

	ck_assert_uint_eq(HV_BISECT(i, UINT64_MAX, i < first), first);
	ck_assert_uint_eq(HV_BISECT(i, UINT64_MAX, i < UINT64_MAX), UINT64_MAX);
}
END_TEST

START_TEST(evaluates_the_number_once)
{
	unsigned nr_calls = 0;

	ck_assert_uint_eq(HV_BISECT(i, (++nr_calls, NR), i < 5), 5);
	ck_assert_uint_eq(nr_calls, 1);
}
END_TEST

/* No element is examined in an empty list, and at most four of nine. */
START_TEST(examines_few_elements)
{
	unsigned nr_seen;

	for (unsigned first = 0; first <= NR; first++) {
		nr_seen = 0;
		ck_assert_uint_eq(HV_BISECT(i, NR, (nr_seen++, i < first)), first);
		ck_assert_uint_le(nr_seen, 4);
	}
	nr_seen = 0;
	ck_assert_uint_eq(HV_BISECT(i, 0u, (nr_seen++, i < 1)), 0);
	ck_assert_uint_eq(nr_seen, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, finds_the_first_number);
	tcase_add_test(tc, finds_equal_elements);
	tcase_add_test(tc, finds_large_numbers);
	tcase_add_test(tc, evaluates_the_number_once);
	tcase_add_test(tc, examines_few_elements);
}

int main(void)
{
	return run_suite("bisect", add_tests);
}
