/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Assigns filters and programs to events when the filters and programs of all events change
 * together. */
#include "tracer/guest/trampoline_programs.h"

#include <check.h>
#include <stdlib.h>

#include "tests/lib/run_suite.h"

#define READS (UINT64_C(1) << HV_EVENT_FILE_READS_BIT)

static struct hv_region region;
static struct hv_event_words words;

static const struct hv_trampoline_filter filter = {.steps = {{.off = 16, .mask = 1}}, .nr = 1};
static const struct hv_trampoline_program program = {
	.steps = {{.does = HV_FETCH_NUMBER, .value = 7}}, .nr = 1};

static void set_up(void)
{
	region.host = calloc(1, HV_REGION_WRITABLE_OFF);
	ck_assert_ptr_nonnull(region.host);
	words = (struct hv_event_words){0};
}

static void tear_down(void)
{
	free(region.host);
}

static uint64_t word(unsigned index)
{
	return hv_region_event_file(&region, index)->filter;
}

static unsigned nr_filters(void)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < HV_REGION_NR_FILTERS; i++)
		nr += words.filters.owners[i] != 0;
	return nr;
}

/* A filter beside a program is not executed, so it takes none of the region's filters. */
START_TEST(a_file_has_a_program_or_a_filter)
{
	const struct hv_event_file_word both = {3, &filter, &program}, one = {3, &filter, NULL};

	hv_event_words_set(&words, &region, &both, 1);
	ck_assert(word(3) & READS);
	ck_assert_uint_eq(nr_filters(), 0);
	hv_event_words_set(&words, &region, &one, 1);
	ck_assert_uint_ne(word(3), 0);
	ck_assert(!(word(3) & READS));
	ck_assert_uint_eq(nr_filters(), 1);
	hv_event_words_clear(&words, &region, 3);
	ck_assert_uint_eq(word(3), 0);
	ck_assert_uint_eq(nr_filters(), 0);
}
END_TEST

/* All programs are in use, and the last file's program ends. */
START_TEST(removed_programs_free_their_slot_first)
{
	static struct hv_trampoline_program programs[HV_REGION_NR_READS];
	struct hv_event_file_word list[HV_REGION_NR_READS + 1];
	unsigned nr = HV_TRAMPOLINE_PROGRAMS_MAX;

	for (unsigned i = 0; i <= nr; i++) {
		programs[i] = program;
		programs[i].steps[0].value = i;
		list[i] = (struct hv_event_file_word){i, NULL, i == 0 ? NULL : &programs[i]};
	}
	hv_event_words_set(&words, &region, list, nr + 1);
	ck_assert_uint_eq(word(nr) & READS, READS);
	list[0].program = &programs[0];
	list[nr].program = NULL;
	hv_event_words_set(&words, &region, list, nr + 1);
	ck_assert_uint_eq(word(0) & READS, READS);
	ck_assert_uint_eq(word(nr), 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, a_file_has_a_program_or_a_filter);
	tcase_add_test(tc, removed_programs_free_their_slot_first);
}

int main(void)
{
	return run_suite("event_words", add_tests);
}
