/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which records belong to an event, in any order that a guest chooses. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tracer/events/decode.h"

#define RUN 7

static struct hv_record words_record(unsigned number, uint64_t tsc, uint64_t word)
{
	return (struct hv_record){{tsc, word, 0,
				   (uint64_t)number << HV_RECORD_DEPTH_SHIFT |
					   (uint64_t)HV_RECORD_WORDS << HV_RECORD_KIND_SHIFT}};
}

START_TEST(words_of_a_stack_belong_together)
{
	struct hv_parts w = {0};
	struct hv_record r, stack = {{50, 0, 0,
				      UINT64_C(2) << HV_RECORD_DEPTH_SHIFT |
					      (uint64_t)HV_RECORD_STACK << HV_RECORD_KIND_SHIFT}};

	for (unsigned skipped = 0; skipped <= 3; skipped++) {
		for (unsigned i = 0; i < 3; i++) {
			r = words_record(i, 50, i);
			if (i != skipped)
				hv_parts_add(&w, &r, 10 + i, RUN);
		}
		ck_assert(hv_parts_are_of(&w, &stack, 13, RUN) == (skipped == 3));
		w.nr = 0;
	}
	for (unsigned i = 0; i < 3; i++) {
		r = words_record(i, 50, i);
		hv_parts_add(&w, &r, 10 + i, RUN);
	}
	ck_assert(!hv_parts_are_of(&w, &stack, 14, RUN));
	stack.word[3] ^= UINT64_C(1) << HV_RECORD_DEPTH_SHIFT;
	ck_assert(!hv_parts_are_of(&w, &stack, 13, RUN));
	stack.word[3] ^= UINT64_C(1) << HV_RECORD_DEPTH_SHIFT;
	stack.word[3] |= UINT64_C(1) << HV_STACK_COMMAND_BIT;
	ck_assert(hv_parts_are_of(&w, &stack, 13, RUN));
	stack.word[0]++;
	ck_assert(!hv_parts_are_of(&w, &stack, 13, RUN));
	r = words_record(3, 51, 0);
	hv_parts_add(&w, &r, 13, RUN);
	ck_assert_uint_eq(w.nr, 0);
	/* Of any number of records, only the maximum is kept. */
	for (unsigned i = 0; i < 2048; i++) {
		r = words_record(i, 50, 1);
		hv_parts_add(&w, &r, i, RUN);
		ck_assert_uint_le(w.nr, HV_STACK_RECORDS_MAX + 1);
	}
}
END_TEST

/* The record before an exit belongs to it if both have the same time, are adjacent, and nothing was
 * lost. */
START_TEST(a_return_value_needs_the_adjacent_exit)
{
	struct hv_record more = {{50, 1, 2, (uint64_t)HV_RECORD_MORE << HV_RECORD_KIND_SHIFT}};
	struct hv_record exit = {{50, 0, UINT64_C(4711) << HV_EXIT_PID_SHIFT,
				  (uint64_t)HV_RECORD_EXIT << HV_RECORD_KIND_SHIFT}};
	struct hv_record other = exit;
	struct hv_parts w = {0};

	hv_parts_add(&w, &more, 10, RUN);
	ck_assert_uint_eq(w.nr, 1);
	ck_assert(hv_parts_are_of(&w, &exit, 11, RUN));
	ck_assert(!hv_parts_are_of(&w, &exit, 12, RUN));
	ck_assert(!hv_parts_are_of(&w, &exit, 11, RUN + 1));
	other.word[0]++;
	ck_assert(!hv_parts_are_of(&w, &other, 11, RUN));
	for (unsigned kind = 0; kind <= HV_RECORD_KIND_MASK; kind++) {
		other = exit;
		other.word[3] = (uint64_t)kind << HV_RECORD_KIND_SHIFT;
		ck_assert(hv_parts_are_of(&w, &other, 11, RUN) == (kind == HV_RECORD_EXIT));
	}
}
END_TEST

/* A record before an exit is no stack word, and stack words do not follow it. */
START_TEST(parts_of_two_kinds_make_no_event)
{
	struct hv_record more = {{50, 0, 0, (uint64_t)HV_RECORD_MORE << HV_RECORD_KIND_SHIFT}};
	struct hv_record exit = {{50, 0, 0, (uint64_t)HV_RECORD_EXIT << HV_RECORD_KIND_SHIFT}};
	struct hv_record stack = {{50, 0, 0, (uint64_t)HV_RECORD_STACK << HV_RECORD_KIND_SHIFT}};
	struct hv_record words = words_record(1, 50, 0);
	struct hv_parts w = {0};

	hv_parts_add(&w, &more, 10, RUN);
	ck_assert(!hv_parts_are_of(&w, &stack, 11, RUN));
	hv_parts_add(&w, &words, 11, RUN);
	ck_assert_uint_eq(w.nr, 0);
	words = words_record(0, 50, 0);
	hv_parts_add(&w, &words, 10, RUN);
	ck_assert(!hv_parts_are_of(&w, &exit, 11, RUN));
	ck_assert(hv_parts_are_of(&w, &stack, 11, RUN));
}
END_TEST

static struct hv_record data_record(unsigned number, uint64_t tsc)
{
	return (struct hv_record){{tsc, 1, 2,
				   (uint64_t)number << HV_RECORD_DEPTH_SHIFT |
					   (uint64_t)HV_RECORD_DATA << HV_RECORD_KIND_SHIFT}};
}

static struct hv_record event_record(unsigned nr_data, uint64_t tsc)
{
	return (struct hv_record){{tsc, 0, 0,
				   (uint64_t)nr_data << HV_RECORD_DEPTH_SHIFT |
					   (uint64_t)HV_RECORD_EVENT << HV_RECORD_KIND_SHIFT}};
}

/* Any number of records that an event can have. A record before the first belongs to another
 * event. */
START_TEST(data_of_an_event_belong_together)
{
	for (unsigned nr = 1; nr <= HV_DATA_RECORDS_MAX; nr++) {
		struct hv_record r = data_record(0, 49), event = event_record(nr, 50);
		struct hv_parts w = {0};

		hv_parts_add(&w, &r, 9, RUN);
		for (unsigned i = 0; i < nr; i++) {
			ck_assert(!hv_parts_are_of(&w, &event, 10 + i, RUN));
			r = data_record(i, 50);
			hv_parts_add(&w, &r, 10 + i, RUN);
		}
		ck_assert_uint_eq(w.nr, nr);
		ck_assert(hv_parts_are_of(&w, &event, 10 + nr, RUN));
		ck_assert(!hv_parts_are_of(&w, &event, 11 + nr, RUN));
		ck_assert(!hv_parts_are_of(&w, &event, 10 + nr, RUN + 1));
		event = event_record(nr - 1, 50);
		ck_assert(!hv_parts_are_of(&w, &event, 10 + nr, RUN));
		event = event_record(nr, 51);
		ck_assert(!hv_parts_are_of(&w, &event, 10 + nr, RUN));
	}
}
END_TEST

START_TEST(missing_or_extra_data_make_no_event)
{
	struct hv_record r, event = event_record(4, 50);
	struct hv_parts w = {0};

	for (unsigned skipped = 0; skipped < 4; skipped++) {
		for (unsigned i = 0; i < 4; i++) {
			r = data_record(i, 50);
			if (i != skipped)
				hv_parts_add(&w, &r, 10 + i, RUN);
		}
		ck_assert(!hv_parts_are_of(&w, &event, 14, RUN));
	}
	for (unsigned i = 0; i < 4; i++) { /* the same position twice: the guest rewound */
		r = data_record(i, 50);
		hv_parts_add(&w, &r, 10 + i - i / 2, RUN);
	}
	ck_assert(!hv_parts_are_of(&w, &event, 13, RUN));
	for (unsigned i = 0; i < 2048; i++) {
		r = data_record(i, 50);
		hv_parts_add(&w, &r, i, RUN);
		ck_assert_uint_le(w.nr, HV_DATA_RECORDS_MAX);
	}
}
END_TEST

START_TEST(data_and_words_do_not_mix)
{
	struct hv_record words = words_record(0, 50, 1), data = data_record(1, 50), r;
	struct hv_parts w = {0};

	hv_parts_add(&w, &words, 10, RUN);
	hv_parts_add(&w, &data, 11, RUN);
	ck_assert_uint_eq(w.nr, 0);
	data = data_record(0, 50);
	words = words_record(1, 50, 1);
	hv_parts_add(&w, &data, 10, RUN);
	for (unsigned kind = 0; kind <= HV_RECORD_KIND_MASK; kind++) {
		r = event_record(1, 50);
		r.word[3] ^= (uint64_t)(kind ^ HV_RECORD_EVENT) << HV_RECORD_KIND_SHIFT;
		ck_assert(hv_parts_are_of(&w, &r, 11, RUN) == (kind == HV_RECORD_EVENT));
	}
	hv_parts_add(&w, &words, 11, RUN);
	ck_assert_uint_eq(w.nr, 0);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, words_of_a_stack_belong_together);
	tcase_add_test(tc, a_return_value_needs_the_adjacent_exit);
	tcase_add_test(tc, parts_of_two_kinds_make_no_event);
	tcase_add_test(tc, data_of_an_event_belong_together);
	tcase_add_test(tc, missing_or_extra_data_make_no_event);
	tcase_add_test(tc, data_and_words_do_not_mix);
}

int main(void)
{
	return run_suite("parts", add_tests);
}
