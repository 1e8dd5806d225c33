/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hash table. */
#include "base/map.h"

#include <check.h>
#include <stdlib.h>

#include "tests/lib/run_suite.h"

#define NR 5000u

START_TEST(an_empty_map_has_no_values)
{
	struct hv_map m = {0};

	ck_assert_ptr_null(hv_map_find(&m, 1));
	hv_map_deinit(&m);
}
END_TEST

START_TEST(finds_values_of_their_keys_only)
{
	struct hv_map m = {0};
	int of = 0;

	hv_map_add(&m, 7, &of);
	ck_assert_uint_eq(m.nr, 1);
	ck_assert_ptr_eq(hv_map_find(&m, 7), &of);
	ck_assert_ptr_null(hv_map_find(&m, 8));
	hv_map_add(&m, 0, &of);
	ck_assert_ptr_null(hv_map_find(&m, 0));
	ck_assert_uint_eq(m.nr, 1);
	hv_map_deinit(&m);
	ck_assert_ptr_null(hv_map_find(&m, 7));
}
END_TEST

/* With neighbouring keys, and with keys that differ in high bits only. */
START_TEST(it_grows)
{
	static const unsigned shifts[] = {0, 12, 40};
	static char values[NR + 1];

	for (unsigned s = 0; s < 3; s++) {
		struct hv_map m = {0};

		for (uint64_t i = 1; i <= NR; i++)
			hv_map_add(&m, i << shifts[s], &values[i]);
		ck_assert_uint_eq(m.nr, NR);
		ck_assert_uint_ge(m.cap, 2 * m.nr);
		for (uint64_t i = 1; i <= NR; i++)
			ck_assert_ptr_eq(hv_map_find(&m, i << shifts[s]), &values[i]);
		ck_assert_ptr_null(hv_map_find(&m, (uint64_t)(NR + 1) << shifts[s]));
		hv_map_deinit(&m);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, an_empty_map_has_no_values);
	tcase_add_test(tc, finds_values_of_their_keys_only);
	tcase_add_test(tc, it_grows);
}

int main(void)
{
	return run_suite("map", add_tests);
}
