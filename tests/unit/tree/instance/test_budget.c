/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/fake_load.h"
#include "tests/lib/fake_session.h"
#include "tests/lib/run_suite.h"
#include "tree/tree.h"

#define NR_SITES 20

static struct hv_session *session;
static struct hv_tree *tree;
static uint64_t ips[NR_SITES + 1], costs[NR_SITES + 1];

static void put(const char *path, const char *text)
{
	struct hv_file *f;
	size_t n;

	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, path, O_WRONLY | O_TRUNC, &f));
	for (; *text; text += n)
		ck_assert_ptr_null(hv_file_write(f, text, strlen(text), &n));
	ck_assert_ptr_null(hv_file_close(f));
}

/* The first function costs half of the total, the second a quarter, and so on. */
static void set_up(void)
{
	char name[32];

	session = hv_fake_new();
	for (unsigned i = 0; i < NR_SITES; i++) {
		ips[i] = 0x1000 + (i * 7 % NR_SITES) * 16;
		costs[i] = 1u << (NR_SITES - i);
		snprintf(name, sizeof(name), "function_%u", i);
		hv_fake_site(session, ips[i], name, NULL, 0);
	}
	ck_assert_ptr_null(hv_tree_new(session, &tree));
	put("current_tracer", "function\n");
}

static void tear_down(void)
{
	hv_tree_free(tree);
	hv_fake_free(session);
}

static size_t keep(uint64_t limit_ppm)
{
	size_t nr;

	ck_assert_ptr_null(hv_tree_keep_budget(tree, limit_ppm, 1, &nr));
	return nr;
}

static void are_aside(const char *names)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_tree_load(tree, &text);
	ck_assert_str_eq(text.data ? text.data : "", names);
}

static unsigned nr_called(void)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < NR_SITES; i++)
		nr += hv_site_trampolines_now(session->trampolines)[i] != 0;
	return nr;
}

START_TEST(no_change_within_the_limit)
{
	hv_fake_load(50000, ips, costs, NR_SITES);
	ck_assert_uint_eq(keep(50000), 0);
	ck_assert_uint_eq(hv_tree_load(tree, &(struct hv_text){0}), 50000);
	ck_assert_uint_eq(nr_called(), NR_SITES);
	are_aside("");
}
END_TEST

START_TEST(the_hottest_functions_are_removed_first)
{
	struct hv_text text = {0};

	hv_fake_load(80000, ips, costs, NR_SITES);
	/* At most 32000 of 80000 may remain; without the first two functions, 20000 remain. */
	ck_assert_uint_eq(keep(40000), 2);
	are_aside("function_0, function_1");
	ck_assert_uint_eq(nr_called(), NR_SITES - 2);
	ck_assert_uint_eq(keep(40000), 0);
	ck_assert_uint_lt(hv_tree_load(tree, &text), 40000);
	hv_text_deinit(&text);
	ck_assert_uint_eq(keep(2000), 4);
	are_aside("function_0, function_1, function_2, function_3, function_4, function_5");
	ck_assert_uint_gt(keep(100), 0);
	hv_tree_load(tree, &text);
	ck_assert_ptr_nonnull(strstr(text.data, "function_7 and "));
	hv_text_deinit(&text);
}
END_TEST

START_TEST(the_trace_lists_removed_functions)
{
	char buf[8192];
	struct hv_file *f;
	size_t n;

	hv_fake_load(80000, ips, costs, NR_SITES);
	keep(50000);
	ck_assert_ptr_null(hv_tree_open(tree, &hv_root_rights, "trace", O_RDONLY, &f));
	ck_assert_ptr_null(hv_file_read(f, buf, sizeof(buf) - 1, &n));
	buf[n] = '\0';
	ck_assert_ptr_nonnull(strstr(buf, "\n# not traced, to limit the overhead: function_0\n"));
	ck_assert_ptr_null(hv_file_close(f));
}
END_TEST

START_TEST(a_new_filter_resets_removals)
{
	hv_fake_load(80000, ips, costs, NR_SITES);
	keep(50000);
	put("set_ftrace_filter", "function_0 function_3 ");
	are_aside("");
	ck_assert_uint_eq(nr_called(), 2);
	keep(50000);
	are_aside("");
	keep(30000);
	are_aside("function_0");
	put("current_tracer", "nop\n");
	are_aside("");
	put("current_tracer", "function_graph\n");
	ck_assert_uint_eq(nr_called(), 2);
}
END_TEST

START_TEST(removed_functions_stay_removed_everywhere)
{
	ck_assert_ptr_null(hv_tree_mkdir(tree, &hv_root_rights, "instances/a"));
	put("instances/a/set_ftrace_filter", "function_0 ");
	put("instances/a/current_tracer", "function\n");
	hv_fake_load(80000, ips, costs, NR_SITES);
	keep(50000);
	are_aside("function_0");
	ck_assert_uint_eq(nr_called(), NR_SITES - 1);
	ck_assert_ptr_null(hv_tree_rmdir(tree, &hv_root_rights, "instances/a"));
	are_aside("");
}
END_TEST

/* Addresses in a guest's rings that belong to no function. */
START_TEST(unknown_addresses_are_ignored)
{
	ips[NR_SITES] = 0xdead;
	costs[NR_SITES] = 1u << 30;
	hv_fake_load(80000, ips + NR_SITES, costs + NR_SITES, 1);
	ck_assert_uint_eq(keep(10), 0);
	are_aside("");
	ck_assert_uint_eq(nr_called(), NR_SITES);
}
END_TEST

START_TEST(a_failed_removal_changes_nothing)
{
	struct hv_err *err;
	size_t nr;

	hv_fake_load(80000, ips, costs, NR_SITES);
	hv_fake_fail(session, EIO);
	err = hv_tree_keep_budget(tree, 50000, 1, &nr);
	ck_assert_ptr_nonnull(err);
	hv_err_free(err);
	are_aside("");
	ck_assert_uint_eq(nr_called(), NR_SITES);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, no_change_within_the_limit);
	tcase_add_test(tc, the_hottest_functions_are_removed_first);
	tcase_add_test(tc, the_trace_lists_removed_functions);
	tcase_add_test(tc, a_new_filter_resets_removals);
	tcase_add_test(tc, removed_functions_stay_removed_everywhere);
	tcase_add_test(tc, unknown_addresses_are_ignored);
	tcase_add_test(tc, a_failed_removal_changes_nothing);
}

int main(void)
{
	return run_suite("budget", add_tests);
}
