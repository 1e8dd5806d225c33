/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The map of pids to names. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tracer/events/names.h"

static struct hv_comms *comms;

static void teardown(void)
{
	hv_comms_free(comms);
	comms = NULL;
}

static void set(uint32_t pid, const char *name)
{
	char comm[HV_COMM_LEN] = "";

	memcpy(comm, name, strnlen(name, sizeof(comm) - 1));
	hv_comms_set(comms, pid, pid + 1, comm);
}

START_TEST(unknown_pids_have_no_name)
{
	comms = hv_comms_new(4);
	ck_assert_ptr_null(hv_comms_find(comms, 0));
	set(1, "init");
	ck_assert_ptr_null(hv_comms_find(comms, 0));
	ck_assert_ptr_null(hv_comms_find(comms, 2));
}
END_TEST

START_TEST(the_last_name_counts)
{
	comms = hv_comms_new(4);
	set(7, "sh");
	set(7, "cat");
	ck_assert_str_eq(hv_comms_find(comms, 7), "cat");
}
END_TEST

START_TEST(an_unterminated_name_is_cut)
{
	char comm[HV_COMM_LEN];

	comms = hv_comms_new(1);
	memset(comm, 'x', sizeof(comm));
	hv_comms_set(comms, 0xffffffff, 0, comm);
	ck_assert_str_eq(hv_comms_find(comms, 0xffffffff), "xxxxxxxxxxxxxxx");
}
END_TEST

START_TEST(the_oldest_name_is_dropped_first)
{
	comms = hv_comms_new(3);
	set(1, "a");
	set(2, "b");
	set(3, "c");
	set(1, "a");
	set(4, "d");
	ck_assert_ptr_null(hv_comms_find(comms, 2));
	set(5, "e");
	ck_assert_ptr_null(hv_comms_find(comms, 3));
	ck_assert_str_eq(hv_comms_find(comms, 1), "a");
	ck_assert_str_eq(hv_comms_find(comms, 4), "d");
	ck_assert_str_eq(hv_comms_find(comms, 5), "e");
}
END_TEST

START_TEST(thread_groups)
{
	comms = hv_comms_new(3);
	set(5, "a");
	ck_assert_uint_eq(hv_comms_tgid(comms, 5), 6);
	ck_assert_uint_eq(hv_comms_tgid(comms, 6), 0);
	hv_comms_set(comms, 5, 1, "b\0             ");
	ck_assert_uint_eq(hv_comms_tgid(comms, 5), 1);
}
END_TEST

START_TEST(resizing_keeps_the_last_names)
{
	struct hv_comms *resized;

	comms = hv_comms_new(3);
	set(1, "a");
	set(2, "b");
	set(3, "c");
	set(1, "a");
	resized = hv_comms_resized(comms, 2);
	ck_assert_uint_eq(hv_comms_max(resized), 2);
	hv_comms_free(comms);
	comms = resized;
	ck_assert_str_eq(hv_comms_find(comms, 1), "a");
	ck_assert_uint_eq(hv_comms_tgid(comms, 1), 2);
	ck_assert_ptr_null(hv_comms_find(comms, 2));
	ck_assert_str_eq(hv_comms_find(comms, 3), "c");
	set(4, "d");
	ck_assert_ptr_null(hv_comms_find(comms, 3));
	resized = hv_comms_resized(comms, 9);
	hv_comms_free(comms);
	comms = resized;
	ck_assert_str_eq(hv_comms_find(comms, 1), "a");
	ck_assert_str_eq(hv_comms_find(comms, 4), "d");
}
END_TEST

START_TEST(a_table_of_one_entry_works)
{
	comms = hv_comms_new(1);
	for (uint32_t pid = 0; pid < 100; pid++) {
		set(pid, "x");
		ck_assert_ptr_nonnull(hv_comms_find(comms, pid));
		ck_assert(!pid || !hv_comms_find(comms, pid - 1));
	}
}
END_TEST

/* Compares with a table of the time at which each pid was last set. */
START_TEST(many_names_match_a_plain_table)
{
	enum { NR_PIDS = 300, NR_MAX = 100 };
	unsigned told[NR_PIDS] = {0};
	unsigned random = 1;

	comms = hv_comms_new(NR_MAX);
	for (unsigned now = 1; now < 20000; now++) {
		unsigned pid = (random = random * 1664525 + 1013904223) >> 16;
		unsigned younger = 0;
		char name[HV_COMM_LEN];

		pid = pid % NR_PIDS * (now % 3 ? 1 : 7) % NR_PIDS;
		snprintf(name, sizeof(name), "%u", now);
		set(pid * 4096, name);
		told[pid] = now;
		pid = random % NR_PIDS;
		for (unsigned i = 0; i < NR_PIDS; i++)
			younger += told[i] > told[pid];
		if (!told[pid] || younger >= NR_MAX) {
			ck_assert_ptr_null(hv_comms_find(comms, pid * 4096));
			continue;
		}
		snprintf(name, sizeof(name), "%u", told[pid]);
		ck_assert_str_eq(hv_comms_find(comms, pid * 4096), name);
	}
}
END_TEST

START_TEST(all_names_can_be_listed)
{
	const char *comm;
	uint32_t pid;
	unsigned seen = 0;

	comms = hv_comms_new(3);
	ck_assert(!hv_comms_at(comms, 0, &pid, &comm));
	for (uint32_t i = 1; i <= 5; i++)
		set(i, &"abcdef"[i]);
	for (size_t i = 0; hv_comms_at(comms, i, &pid, &comm); i++) {
		ck_assert_str_eq(comm, &"abcdef"[pid]);
		seen |= 1u << pid;
	}
	ck_assert_uint_eq(seen, 1u << 3 | 1u << 4 | 1u << 5);
}
END_TEST

START_TEST(the_name_of_the_latest_time_counts)
{
	static const char sh[HV_COMM_LEN] = "sh", cat[HV_COMM_LEN] = "cat";

	comms = hv_comms_new(1);
	hv_comms_set_newest(comms, 20, 7, 7, cat);
	hv_comms_set_newest(comms, 10, 7, 7, sh);
	ck_assert_str_eq(hv_comms_find(comms, 7), "cat");
	hv_comms_set_newest(comms, 30, 7, 7, sh);
	ck_assert_str_eq(hv_comms_find(comms, 7), "sh");
	hv_comms_set_newest(comms, 5, 8, 8, cat); /* replaces the entry of pid 7 */
	hv_comms_set_newest(comms, 6, 8, 8, sh);
	ck_assert_str_eq(hv_comms_find(comms, 8), "sh");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, the_name_of_the_latest_time_counts);
	tcase_add_test(tc, unknown_pids_have_no_name);
	tcase_add_test(tc, the_last_name_counts);
	tcase_add_test(tc, an_unterminated_name_is_cut);
	tcase_add_test(tc, the_oldest_name_is_dropped_first);
	tcase_add_test(tc, thread_groups);
	tcase_add_test(tc, resizing_keeps_the_last_names);
	tcase_add_test(tc, a_table_of_one_entry_works);
	tcase_add_test(tc, many_names_match_a_plain_table);
	tcase_add_test(tc, all_names_can_be_listed);
}

int main(void)
{
	return run_suite("comms", add_tests);
}
