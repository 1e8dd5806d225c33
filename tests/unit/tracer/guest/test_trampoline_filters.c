/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assigns filter programs in the region to events. tests/unit/arch/test_trampoline_event_filter.c
 * tests the programs' execution in trampolines, also while they change. */
#include "tracer/guest/trampoline_programs.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/run_suite.h"

static struct hv_region region;
static struct hv_trampoline_filters used;

static void set_up(void)
{
	region.host = calloc(1, HV_REGION_WRITABLE_OFF);
	ck_assert_ptr_nonnull(region.host);
	used = (struct hv_trampoline_filters){0};
}

static void tear_down(void)
{
	free(region.host);
}

static struct hv_trampoline_filter filter_of(uint64_t value)
{
	return (struct hv_trampoline_filter){
		.steps = {{.off = 16, .holds = HV_FILTER_PASSES, .low = value, .mask = UINT64_MAX}},
		.nr = 1,
	};
}

static uint64_t word(unsigned index)
{
	return hv_region_event_file(&region, index)->filter;
}

static uint64_t set(unsigned index, uint64_t value)
{
	struct hv_trampoline_filter filter = filter_of(value);

	hv_trampoline_filters_set(&used, &region, index, &filter);
	return word(index);
}

static uint64_t low(unsigned index)
{
	return hv_region_filter(&region, word(index) & 0xffff)->low;
}

START_TEST(each_event_has_a_separate_program)
{
	uint64_t first = set(5, 7), second = set(9, 8);

	ck_assert(first && second && (first & 0xffff) != (second & 0xffff));
	ck_assert_uint_eq(low(5), 7);
	ck_assert_uint_eq(low(9), 8);
	ck_assert_uint_eq(set(5, 7), first); /* nothing has changed */
	ck_assert_uint_ne(set(5, 6), first);
	ck_assert_uint_eq(low(5), 6);
	ck_assert_uint_ne(set(5, 7), first); /* a previous word is never reused */
	ck_assert_uint_eq(low(9), 8);
	hv_trampoline_filters_set(&used, &region, 5, NULL);
	hv_trampoline_filters_set(&used, &region, 5, NULL);
	ck_assert_uint_eq(word(5), 0);
	ck_assert_uint_eq(low(9), 8);
	ck_assert_uint_ne(set(1, 7), first);
	hv_trampoline_filters_set(&used, &region, 9, &(struct hv_trampoline_filter){0});
	ck_assert_uint_eq(word(9), 0);
}
END_TEST

/* Enabling an event again clears its word. */
START_TEST(a_file_that_was_cleared_gets_its_filter_again)
{
	uint64_t first = set(5, 7);

	hv_region_event_file(&region, 5)->filter = 0;
	ck_assert(set(5, 7) && word(5) != first);
	ck_assert_uint_eq(low(5), 7);
}
END_TEST

START_TEST(more_programs_than_slots)
{
	for (unsigned i = 0; i < HV_REGION_NR_FILTERS; i++)
		ck_assert_uint_ne(set(i, i), 0);
	ck_assert_uint_eq(set(HV_REGION_NR_FILTERS, 1), 0);
	for (unsigned i = 0; i < HV_REGION_NR_FILTERS; i++)
		ck_assert_uint_eq(low(i), i);
	for (size_t i = 0; i < 4096; i++) /* the groups' programs follow */
		ck_assert_uint_eq(region.host[HV_REGION_PROGRAMS_OFF + i], 0);
	hv_trampoline_filters_set(&used, &region, 77, NULL);
	ck_assert_uint_ne(set(HV_REGION_NR_FILTERS, 1), 0);
	ck_assert_uint_eq(set(77, 77), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, each_event_has_a_separate_program);
	tcase_add_test(tc, a_file_that_was_cleared_gets_its_filter_again);
	tcase_add_test(tc, more_programs_than_slots);
}

int main(void)
{
	return run_suite("trampoline_filters", add_tests);
}
