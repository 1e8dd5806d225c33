/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/shared_text.h"

#include <check.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"

static const struct hv_shared_text *share(struct hv_shared_texts *all, const char *end)
{
	struct hv_text text = {0};
	const struct hv_shared_text *s;

	hv_text_add_fill(&text, 'x', 100000);
	hv_text_add(&text, end);
	s = hv_shared_text_take(all, &text);
	ck_assert_ptr_null(text.data);
	return s;
}

START_TEST(equal_texts_are_one)
{
	struct hv_shared_texts all = {0};
	const struct hv_shared_text *a = share(&all, "a"), *b = share(&all, "b");
	const struct hv_shared_text *again = share(&all, "a");

	ck_assert_ptr_eq(a, again);
	ck_assert_ptr_ne(a, b);
	ck_assert_uint_eq(all.len_bytes, 2 * 100001);
	ck_assert_str_eq(b->data + 100000, "b");
	hv_shared_text_drop(a);
	ck_assert_uint_eq(all.len_bytes, 2 * 100001);
	hv_shared_text_drop(again);
	hv_shared_text_drop(NULL);
	ck_assert_uint_eq(all.len_bytes, 100001);
	ck_assert_ptr_eq(all.first, b);
	hv_shared_text_drop(b);
	ck_assert_ptr_null(all.first);
}
END_TEST

START_TEST(empty)
{
	struct hv_shared_texts all = {0};
	struct hv_text text = {0};
	const struct hv_shared_text *s = hv_shared_text_take(&all, &text);

	ck_assert_uint_eq(s->len_bytes, 0);
	hv_shared_text_drop(s);
}
END_TEST

static struct hv_err *share_some(struct hv_shared_texts *all, char c, size_t len_bytes,
				 const struct hv_shared_text **ret)
{
	struct hv_text text = {0};
	struct hv_err *err;

	hv_text_add_fill(&text, c, len_bytes);
	err = hv_shared_text_take_limited(all, &text, ret);
	ck_assert_ptr_null(text.data);
	return err;
}

START_TEST(all_together_are_limited)
{
	struct hv_shared_texts all = {0};
	const struct hv_shared_text *first, *again, *rest, *none = NULL;

	expect_success(share_some(&all, 'a', HV_SHARED_ALL_MAX - 5, &first));
	expect_success(share_some(&all, 'a', HV_SHARED_ALL_MAX - 5, &again));
	ck_assert_ptr_eq(first, again);
	expect_success(share_some(&all, 'b', 5, &rest));
	expect_error(share_some(&all, 'c', 1, &none), ENOMEM,
		     "the texts of open files have more than 128 MiB: close some files");
	ck_assert_ptr_null(none);
	ck_assert_uint_eq(all.len_bytes, HV_SHARED_ALL_MAX);
	hv_shared_text_drop(rest);
	expect_success(share_some(&all, 'c', 1, &rest));
	hv_shared_text_drop(rest);
	hv_shared_text_drop(first);
	hv_shared_text_drop(again);
	ck_assert_ptr_null(all.first);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, equal_texts_are_one);
	tcase_add_test(tc, empty);
	tcase_add_test(tc, all_together_are_limited);
}

int main(void)
{
	return run_suite("shared_text", add_tests);
}
