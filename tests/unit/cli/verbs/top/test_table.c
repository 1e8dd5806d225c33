/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The functions in top: sums, differences, order. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "cli/verbs/top/table.h"
#include "tests/lib/run_suite.h"

static struct top_counts before, now;
static struct top_table table;

static void set_up(void)
{
	before = now = (struct top_counts){0};
	table = (struct top_table){0};
}

static void tear_down(void)
{
	top_counts_deinit(&before);
	top_counts_deinit(&now);
	top_table_deinit(&table);
}

static void add_up(size_t domain)
{
	top_counts_join(&before);
	top_counts_join(&now);
	top_table_add(&table, domain, &before, &now);
}

static void ck_row(size_t i, const char *name, uint64_t hits, double time_us)
{
	ck_assert_uint_lt(i, table.nr);
	ck_assert_str_eq(table.rows[i].name, name);
	ck_assert_uint_eq(table.rows[i].hits, hits);
	ck_assert_double_eq_tol(table.rows[i].time_us, time_us, 1e-9);
}

START_TEST(counts_of_all_vcpus_are_added)
{
	top_counts_add(&now, "b", 2, 20);
	top_counts_add(&now, "a", 1, 10);
	top_counts_add(&now, "b", 3, 5);
	add_up(0);
	ck_assert_uint_eq(table.nr, 2);
	ck_row(0, "a", 1, 10);
	ck_row(1, "b", 5, 25);
	ck_assert_double_eq_tol(top_row_average_us(&table.rows[1]), 5, 1e-9);
}
END_TEST

START_TEST(differences)
{
	top_counts_add(&before, "gone", 7, 7);
	top_counts_add(&before, "same", 4, 40);
	top_counts_add(&before, "more", 4, 40);
	top_counts_add(&before, "returned", 4, 40);
	top_counts_add(&now, "new", 1, 2);
	top_counts_add(&now, "returned", 4, 41);
	top_counts_add(&now, "more", 6, 45);
	top_counts_add(&now, "same", 4, 40);
	add_up(3);
	ck_assert_uint_eq(table.nr, 3);
	ck_row(0, "more", 2, 5);
	ck_row(1, "new", 1, 2);
	ck_row(2, "returned", 0, 1);
	ck_assert_double_eq(top_row_average_us(&table.rows[2]), 0);
	ck_assert_uint_eq(table.rows[2].domain, 3);
}
END_TEST

START_TEST(counts_that_restarted)
{
	top_counts_add(&before, "f", 100, 1000);
	top_counts_add(&now, "f", 3, 30);
	add_up(0);
	ck_row(0, "f", 3, 30);
}
END_TEST

START_TEST(names_are_bounded)
{
	char name[4096];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	top_counts_add(&now, name, 1, 1);
	add_up(0);
	ck_assert_uint_eq(strlen(table.rows[0].name), PROFILE_NAME_MAX);
}
END_TEST

START_TEST(functions_are_bounded)
{
	for (size_t i = 0; i < 3 * TOP_COUNTS_MAX; i++) {
		char name[16];

		snprintf(name, sizeof(name), "f%zu", i);
		top_counts_add(&now, name, 1, 1);
	}
	top_counts_join(&now);
	ck_assert_uint_ge(now.nr, TOP_COUNTS_MAX);
	ck_assert_uint_le(now.nr, 2 * TOP_COUNTS_MAX);
	top_counts_clear(&now);
	top_counts_add(&now, "f", 1, 1);
	ck_assert_uint_eq(now.nr, 1);
}
END_TEST

/* 4096 vCPUs with one function each take no more room than a few. */
START_TEST(room_is_for_names)
{
	for (unsigned i = 0; i < 4096; i++)
		top_counts_add(&now, i % 2 ? "odd" : "even", 1, 1);
	ck_assert_uint_le(now.room, 512);
	top_counts_join(&now);
	ck_assert_uint_eq(now.nr, 2);
	ck_assert_uint_eq(now.list[1].hits, 2048);
}
END_TEST

static const struct {
	enum top_key key;
	unsigned reversed;
	const char *order; /* domain and name of each row */
} orders[] = {
	{TOP_BY_TIME, 0, "0c 1b 0a 0b "},   {TOP_BY_TIME, 1, "0a 0b 1b 0c "},
	{TOP_BY_HITS, 0, "0b 1b 0a 0c "},   {TOP_BY_AVERAGE, 0, "0c 0a 1b 0b "},
	{TOP_BY_NAME, 0, "0a 0b 1b 0c "},   {TOP_BY_NAME, 1, "0c 0b 1b 0a "},
	{TOP_BY_DOMAIN, 0, "0a 0b 0c 1b "}, {TOP_BY_DOMAIN, 1, "1b 0a 0b 0c "},
};

START_TEST(orders_of_rows)
{
	struct top_counts other = {0}, none = {0};
	char order[64] = "";

	top_counts_add(&now, "a", 2, 10);
	top_counts_add(&now, "b", 5, 10);
	top_counts_add(&now, "c", 1, 30);
	add_up(0);
	top_counts_add(&other, "b", 4, 16);
	top_table_add(&table, 1, &none, &other);
	top_table_sort(&table, orders[_i].key, orders[_i].reversed);
	for (size_t i = 0; i < table.nr; i++)
		sprintf(order + strlen(order), "%zu%s ", table.rows[i].domain, table.rows[i].name);
	ck_assert_str_eq(order, orders[_i].order);
	top_counts_deinit(&other);
}
END_TEST

START_TEST(names_of_keys)
{
	enum top_key key = TOP_BY_TIME;

	ck_assert(top_key_parse("average", &key));
	ck_assert_int_eq(key, TOP_BY_AVERAGE);
	ck_assert_str_eq(top_key_name(key), "average");
	ck_assert(!top_key_parse("", &key));
	ck_assert(!top_key_parse("hit", &key));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, counts_of_all_vcpus_are_added);
	tcase_add_test(tc, differences);
	tcase_add_test(tc, counts_that_restarted);
	tcase_add_test(tc, names_are_bounded);
	tcase_add_test(tc, functions_are_bounded);
	tcase_add_test(tc, room_is_for_names);
	tcase_add_loop_test(tc, orders_of_rows, 0, sizeof(orders) / sizeof(orders[0]));
	tcase_add_test(tc, names_of_keys);
}

int main(void)
{
	return run_suite("top_table", add_tests);
}
