/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assigns programs in the region to events, in addition to filters.
 * tests/unit/arch/test_trampoline_event_fetch.c tests their execution in trampolines. */
#include "tracer/guest/trampoline_programs.h"

#include <check.h>
#include <stdlib.h>

#include "tests/lib/run_suite.h"

#define READS (UINT64_C(1) << HV_EVENT_FILE_READS_BIT)

static struct hv_region region;
static struct hv_trampoline_programs used;

static void set_up(void)
{
	region.host = calloc(1, HV_REGION_WRITABLE_OFF);
	ck_assert_ptr_nonnull(region.host);
	used = (struct hv_trampoline_programs){0};
}

static void tear_down(void)
{
	free(region.host);
}

static uint64_t word(unsigned index)
{
	return hv_region_event_file(&region, index)->filter;
}

static const struct hv_fetch_step *steps_of(unsigned index)
{
	ck_assert(word(index) & READS);
	return hv_region_reads(&region, (unsigned)(word(index) & 0xffff));
}

static uint64_t set(unsigned index, uint64_t value, size_t nr)
{
	static struct hv_trampoline_program program;

	program = (struct hv_trampoline_program){.nr = nr};
	for (size_t i = 0; i < nr; i++)
		program.steps[i] = (struct hv_fetch_step){HV_FETCH_NUMBER, 0, 0, 1, value};
	hv_trampoline_programs_set(&used, &region, index, &program);
	return word(index);
}

START_TEST(each_event_has_a_separate_program)
{
	uint64_t first = set(5, 7, 2), second = set(9, 8, HV_FETCH_STEPS_MAX);

	ck_assert_uint_ne(first, second);
	ck_assert_uint_eq(steps_of(5)[1].value, 7);
	ck_assert_uint_eq(steps_of(5)[2].does, HV_FETCH_END);
	ck_assert_uint_eq(steps_of(9)[HV_FETCH_STEPS_MAX - 1].value, 8);
	ck_assert_uint_eq(set(5, 7, 2), first); /* nothing has changed */
	ck_assert_uint_eq(set(9, 0, 0), 0);
	hv_trampoline_programs_set(&used, &region, 5, NULL);
	hv_trampoline_programs_set(&used, &region, 5, NULL);
	ck_assert_uint_eq(word(5), 0);
	hv_region_event_file(&region, 9)->filter = 77; /* a filter */
	hv_trampoline_programs_set(&used, &region, 9, NULL);
	ck_assert_uint_eq(word(9), 77);
}
END_TEST

/* As when only user stacks are read for each of them. */
START_TEST(events_with_the_same_program_share_it)
{
	uint64_t shared = set(5, 7, 2);

	for (unsigned i = 0; i < 2 * HV_REGION_NR_READS; i++)
		ck_assert_uint_eq(set(100 + i, 7, 2), shared);
	ck_assert_uint_ne(set(5, 8, 2), shared);
	for (unsigned i = 0; i < 2 * HV_REGION_NR_READS; i++) {
		ck_assert_uint_eq(steps_of(100 + i)[1].value, 7);
		ck_assert_uint_eq(set(100 + i, 0, 0), 0);
	}
	/* The entry is free again: the others and it suffice for as many programs. */
	for (unsigned i = 0; i + 1 < HV_REGION_NR_READS; i++)
		ck_assert_uint_ne(set(100 + i, 1000 + i, 1), 0);
	ck_assert_uint_eq(set(99, 1, 1), 0);
	ck_assert_uint_eq(steps_of(5)[1].value, 8);
}
END_TEST

/* A vCPU may still execute the previous one. */
START_TEST(a_program_stays_when_it_is_replaced)
{
	const struct hv_fetch_step *before;

	for (unsigned i = 1; i < HV_TRAMPOLINE_PROGRAMS_MAX; i++)
		set(100 + i, 1000 + i, 1);
	set(5, 7, 1);
	before = steps_of(5);
	set(5, 8, 2);
	ck_assert_uint_eq(steps_of(5)->value, 8);
	ck_assert_ptr_ne(before, steps_of(5));
	ck_assert_uint_eq(before->value, 7);
	for (unsigned i = 2; i < HV_TRAMPOLINE_PROGRAMS_MAX; i++)
		hv_trampoline_programs_set(&used, &region, 100 + i, NULL);
	for (unsigned i = 0; i + 3 < HV_REGION_NR_READS; i++) {
		ck_assert_uint_eq(before->value, 7);
		set(5, 100 + i, 1);
	}
	ck_assert_uint_eq(steps_of(101)->value, 1001);
}
END_TEST

/* Enabling an event again clears its word. */
START_TEST(a_file_that_was_cleared_gets_its_program_again)
{
	set(5, 7, 1);
	hv_region_event_file(&region, 5)->filter = 0;
	set(5, 7, 1);
	ck_assert_uint_eq(steps_of(5)->value, 7);
}
END_TEST

START_TEST(more_programs_than_slots)
{
	for (unsigned i = 0; i < HV_REGION_NR_READS; i++)
		ck_assert_uint_ne(set(i, i, HV_FETCH_STEPS_MAX), 0);
	ck_assert_uint_eq(set(HV_REGION_NR_READS, 1, 1), 0);
	for (unsigned i = 0; i < HV_REGION_NR_READS; i++)
		ck_assert_uint_eq(steps_of(i)->value, i);
	for (size_t i = 0; i < 4096; i++) { /* filters, and the groups' programs */
		ck_assert_uint_eq(region.host[HV_REGION_PROGRAMS_OFF + i], 0);
		ck_assert_uint_eq(region.host[HV_REGION_READS_OFF - 1 - i], 0);
	}
	hv_trampoline_programs_set(&used, &region, 7, NULL);
	ck_assert_uint_ne(set(HV_REGION_NR_READS, 1, 1), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, each_event_has_a_separate_program);
	tcase_add_test(tc, events_with_the_same_program_share_it);
	tcase_add_test(tc, a_program_stays_when_it_is_replaced);
	tcase_add_test(tc, a_file_that_was_cleared_gets_its_program_again);
	tcase_add_test(tc, more_programs_than_slots);
}

int main(void)
{
	return run_suite("trampoline_programs", add_tests);
}
