/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdlib.h>

#include "base/guard.h"
#include "tests/lib/run_suite.h"
#include "tree/settings/event_predicate.h"

/* Checks the lowest 16 of LIST's 70 CPUs. */
static void is(const char *list, uint64_t want)
{
	uint64_t *mask = hv_cpulist_parse(list, 70);

	ck_assert_msg(mask != NULL, "%s", list);
	ck_assert_msg((mask[0] & 0xffff) == want, "%s: %lx", list, mask[0] & 0xffff);
	free(mask);
}

static void is_wrong(const char *list)
{
	ck_assert_msg(hv_cpulist_parse(list, 70) == NULL, "%s", list);
}

START_TEST(numbers_and_ranges)
{
	is("", 0);
	is("0", 1);
	is("0,3-5", 0x39);
	is("3-5\n1,,2 0", 0x3f);
	is("all", 0xffff);
	is("0-N", 0xffff);
	is("N", 0);
	is("15", 0x8000);
}
END_TEST

START_TEST(parts_of_groups)
{
	is("0-7:2/4", 0x33);
	is("all:1/8", 0x101);
	is("1-7:0/2", 0);
	is("3-10:1/4", 0x88);
}
END_TEST

START_TEST(last_cpu)
{
	uint64_t *mask = hv_cpulist_parse("N,64", 70);

	ck_assert(hv_cpumask_has(mask, 69) && hv_cpumask_has(mask, 64));
	ck_assert(!hv_cpumask_has(mask, 68));
	free(mask);
}
END_TEST

START_TEST(no_lists)
{
	static const char *const lists[] = {
		"x",	   "-",	      "1-",	   "-1",    "2-1",
		"70",	   "0x1",     "1-70",	   "0-3:1", "0-3:1/",
		"0-3:2/1", "0-3:1/0", "alle",	   "1.",    "99999999999999999999999",
		"N1",	   "1-3-5",   "0-3:1/2/3", "2:1/1",
	};

	for (size_t i = 0; i < HV_ARRAY_LEN(lists); i++)
		is_wrong(lists[i]);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, numbers_and_ranges);
	tcase_add_test(tc, parts_of_groups);
	tcase_add_test(tc, last_cpu);
	tcase_add_test(tc, no_lists);
}

int main(void)
{
	return run_suite("cpulist", add_tests);
}
