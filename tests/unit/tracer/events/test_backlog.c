/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares the backlog with a plain table and a linear search. */
#include <check.h>
#include <stdbool.h>

#include "tests/lib/run_suite.h"
#include "tracer/events/merge.h"

#define NR_MAX 700

static struct hv_kept table[NR_MAX];
static size_t nr;
static struct hv_backlog backlog;
static uint64_t random_state;

static unsigned chance(unsigned n)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(random_state >> 33) % n;
}

static size_t oldest_in_table(void)
{
	size_t oldest = 0;

	for (size_t i = 1; i < nr; i++)
		if (table[i].time_ns < table[oldest].time_ns ||
		    (table[i].time_ns == table[oldest].time_ns &&
		     (int64_t)(table[i].position - table[oldest].position) < 0))
			oldest = i;
	return oldest;
}

static void add(uint64_t time_ns, uint64_t position)
{
	struct hv_kept kept = {.time_ns = time_ns, .position = position, .round = random_state};
	struct hv_kept *room;
	size_t nr_room;

	room = hv_backlog_room(&backlog, position, &nr_room);
	ck_assert_uint_ge(nr_room, 1);
	*room = kept;
	hv_backlog_add(&backlog, room);
	table[nr++] = kept;
}

static void drop_and_compare(void)
{
	size_t oldest = oldest_in_table();
	const struct hv_kept *first = hv_backlog_first(&backlog);

	ck_assert_ptr_nonnull(first);
	ck_assert_uint_eq(first->position, table[oldest].position);
	ck_assert_uint_eq(first->time_ns, table[oldest].time_ns);
	ck_assert_uint_eq(first->round, table[oldest].round);
	hv_backlog_drop_first(&backlog);
	table[oldest] = table[--nr];
}

static void compare_lowest(uint64_t end)
{
	uint64_t lowest = end;

	for (size_t i = 0; i < nr; i++)
		if ((int64_t)(table[i].position - lowest) < 0)
			lowest = table[i].position;
	ck_assert_uint_eq(hv_backlog_lowest(&backlog, end), lowest);
}

/* _i: 0 in order, 1 nearly, 2 with many equal times, 3 random order, 4 backwards */
static uint64_t time_of(int order, uint64_t position)
{
	switch (order) {
	case 0:
		return position;
	case 1:
		return position + (chance(10) ? 0 : chance(30));
	case 2:
		return position / 8 + chance(3);
	case 3:
		return chance(1000);
	default:
		return UINT64_MAX - position;
	}
}

START_TEST(the_oldest_is_first)
{
	uint64_t position = UINT64_MAX - 300; /* the positions wrap */

	random_state = (uint64_t)_i;
	ck_assert_ptr_null(hv_backlog_first(&backlog));
	for (unsigned n = 0; n < 4000; n++) {
		bool grows = n / 500 % 2 == 0;

		if (nr < NR_MAX && chance(10) < (grows ? 7u : 3u)) {
			add(time_of(_i, n), position);
			position++;
		} else if (nr) {
			drop_and_compare();
		}
		ck_assert_uint_eq(hv_backlog_nr(&backlog), nr);
		if (chance(20) == 0)
			compare_lowest(position);
	}
	while (nr)
		drop_and_compare();
	ck_assert_ptr_null(hv_backlog_first(&backlog));
	hv_backlog_deinit(&backlog);
	ck_assert_uint_eq(hv_backlog_nr(&backlog), 0);
}
END_TEST

/* The guest moves its head back. */
START_TEST(backward_positions_become_the_lowest)
{
	for (unsigned n = 0; n < 200; n++)
		add(n, 1000 + n);
	for (unsigned n = 0; n < 100; n++)
		drop_and_compare();
	compare_lowest(1200);
	for (unsigned n = 0; n < 50; n++)
		add(200 + n, 500 + n);
	compare_lowest(1200);
	while (nr)
		drop_and_compare();
	add(1, 2000);
	add(2, 2001);
	compare_lowest(2002);
	drop_and_compare();
	compare_lowest(2002);
	drop_and_compare();
	compare_lowest(2002);
	hv_backlog_deinit(&backlog);
}
END_TEST

/* Some records of a room are not added, and some are older than those in the backlog. */
START_TEST(a_batch_of_records_is_added)
{
	for (unsigned round = 0; round < 40; round++) {
		size_t nr_room;
		struct hv_kept *room = hv_backlog_room(&backlog, round * 100, &nr_room);

		for (size_t i = 0; i < nr_room && i < 50; i++)
			room[i] = (struct hv_kept){.time_ns = round * 100 + (i % 5 == 2 ? 0 : i),
						   .position = round * 100 + i,
						   .round = i};
		for (size_t i = 0; i < nr_room && i < 50; i++) {
			if (i % 7 == 3)
				continue;
			table[nr++] = room[i];
			hv_backlog_add(&backlog, &room[i]);
		}
		for (unsigned n = 0; n < 30 && nr; n++)
			drop_and_compare();
		compare_lowest(round * 100 + 50);
	}
	while (nr)
		drop_and_compare();
	hv_backlog_deinit(&backlog);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, the_oldest_is_first, 0, 5);
	tcase_add_test(tc, backward_positions_become_the_lowest);
	tcase_add_test(tc, a_batch_of_records_is_added);
}

int main(void)
{
	return run_suite("backlog", add_tests);
}
