/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/settings/pidlist.h"

/* Returns an errno, or 0 after replacing the list by the new one. */
static int add(struct hv_pidlist *l, const char *text, size_t want_used)
{
	struct hv_pidlist next;
	struct hv_err *err;
	size_t used;
	int code;

	err = hv_pidlist_add(l, text, strlen(text), &next, &used);
	if (err) {
		code = err->code;
		hv_err_free(err);
		return code;
	}
	ck_assert_uint_eq(used, want_used);
	hv_pidlist_deinit(l);
	*l = next;
	return 0;
}

static void reads(const struct hv_pidlist *l, const char *want)
{
	HV_AUTO_TEXT struct hv_text text = {0};

	hv_pidlist_text(l, &text);
	ck_assert_str_eq(text.data, want);
}

START_TEST(ascending_and_complete)
{
	struct hv_pidlist l = {0};

	reads(&l, "no pid\n");
	ck_assert_int_eq(add(&l, "20 0x10 3\n20\t7", 14), 0);
	reads(&l, "3\n7\n16\n20\n");
	ck_assert_int_eq(add(&l, " \n", 2), 0);
	ck_assert_int_eq(add(&l, "", 0), 0);
	ck_assert_int_eq(add(&l, "0", 1), 0);
	reads(&l, "0\n3\n7\n16\n20\n");
	hv_pidlist_deinit(&l);
}
END_TEST

START_TEST(all_or_nothing)
{
	struct hv_pidlist l = {0};
	char long_word[200];

	memset(long_word, '0', sizeof(long_word) - 1);
	long_word[199] = '\0';
	ck_assert_int_eq(add(&l, "5\n", 2), 0);
	ck_assert_int_eq(add(&l, "6 abc 7", 0), EINVAL);
	ck_assert_int_eq(add(&l, "-1", 0), EINVAL);
	ck_assert_int_eq(add(&l, "6 7x", 0), EINVAL);
	ck_assert_int_eq(add(&l, "99999999999999999999", 0), EINVAL);
	ck_assert_int_eq(add(&l, "1073741824", 0), EPERM);
	ck_assert_int_eq(add(&l, long_word, 0), EINVAL);
	reads(&l, "5\n");
	hv_pidlist_deinit(&l);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, ascending_and_complete);
	tcase_add_test(tc, all_or_nothing);
}

int main(void)
{
	return run_suite("pidlist", add_tests);
}
