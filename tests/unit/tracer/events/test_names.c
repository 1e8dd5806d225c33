/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Task names: from records, and from the guest's own list for all other tasks. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/tasks/fake_tasks.h"
#include "tracer/events/names.h"

static struct ft t;
static struct hv_names *names;

static void setup(void)
{
	ft_init(&t);
	ft_process(&t, 71, "cat", 0x3000);
	names = hv_names_new(&t.f.k);
}

static void teardown(void)
{
	hv_names_free(names);
	ft_deinit(&t);
}

static void record(uint32_t pid, uint32_t tgid, const char *name)
{
	char comm[HV_COMM_LEN] = {0};

	memcpy(comm, name, strlen(name));
	hv_names_add(names, pid, tgid, comm);
}

START_TEST(the_recorded_name_counts)
{
	record(71, 70, "tac");
	ck_assert_str_eq(hv_names_find(names, 71), "tac");
	ck_assert_uint_eq(hv_names_tgid(names, 71), 70);
}
END_TEST

START_TEST(unrecorded_names_come_from_the_task_list)
{
	uint32_t pid;
	const char *comm;

	ck_assert_str_eq(hv_names_find(names, 71), "cat");
	ck_assert_uint_eq(hv_names_tgid(names, 71), 0);
	ck_assert(!hv_names_at(names, 0, &pid, &comm));
}
END_TEST

START_TEST(the_task_list_is_not_read_for_each_lookup)
{
	ck_assert_ptr_null(hv_names_find(names, 72));
	ft_process(&t, 72, "dog", 0x3000);
	ck_assert_ptr_null(hv_names_find(names, 72));
}
END_TEST

START_TEST(names_stay_while_following_is_off)
{
	record(1, 1, "init");
	hv_names_follow(names, HV_OFF);
	record(1, 1, "other");
	record(2, 2, "more");
	ck_assert_str_eq(hv_names_find(names, 1), "init");
	ck_assert_ptr_null(hv_names_find(names, 2));
	ck_assert_ptr_null(hv_names_find(names, 71));
	hv_names_follow(names, HV_ON);
	ck_assert_str_eq(hv_names_find(names, 71), "cat");
}
END_TEST

START_TEST(a_smaller_table_keeps_the_last_names)
{
	uint32_t pid;
	const char *comm;

	ck_assert_uint_eq(hv_names_max(names), HV_COMMS_MAX);
	record(1, 1, "one");
	record(2, 2, "two");
	hv_names_set_max(names, 1);
	ck_assert_uint_eq(hv_names_max(names), 1);
	ck_assert(hv_names_at(names, 0, &pid, &comm));
	ck_assert_uint_eq(pid, 2);
	ck_assert_str_eq(comm, "two");
	ck_assert(!hv_names_at(names, 1, &pid, &comm));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, the_recorded_name_counts);
	tcase_add_test(tc, unrecorded_names_come_from_the_task_list);
	tcase_add_test(tc, the_task_list_is_not_read_for_each_lookup);
	tcase_add_test(tc, names_stay_while_following_is_off);
	tcase_add_test(tc, a_smaller_table_keeps_the_last_names);
}

int main(void)
{
	return run_suite("names", add_tests);
}
