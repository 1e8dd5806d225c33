/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The growing string. */
#include <check.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "tests/lib/run_suite.h"

START_TEST(empty_is_valid)
{
	HV_AUTO_TEXT struct hv_text t = {0};
	HV_AUTO_FREE char *taken = NULL;

	hv_text_clear(&t);
	ck_assert_ptr_null(t.data);
	taken = hv_text_take(&t);
	ck_assert_str_eq(taken, "");
	ck_assert_ptr_null(t.data);
}
END_TEST

START_TEST(grows)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	for (unsigned i = 0; i < 1000; i++)
		hv_text_printf(&t, "%04u ", i);
	hv_text_printf(&t, "%0600d", 7);
	ck_assert_uint_eq(t.len_bytes, 5600);
	ck_assert_uint_eq(strlen(t.data), 5600);
	ck_assert_int_eq(strncmp(t.data + 4995, "0999 0000", 9), 0);
	hv_text_clear(&t);
	ck_assert_str_eq(t.data, "");
	hv_text_add(&t, "again");
	ck_assert_str_eq(t.data, "again");
}
END_TEST

START_TEST(bytes_may_be_zero)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_text_add_bytes(&t, "a\0b", 3);
	ck_assert_uint_eq(t.len_bytes, 3);
	ck_assert_mem_eq(t.data, "a\0b", 4);
}
END_TEST

START_TEST(guest_text_is_escaped_and_bounded)
{
	static const char name[4] = {'l', 'o', 'n', 'g'};
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_text_add_guest(&t, "\033[2J\x9bm\x7f\n\xc3\xa4", 64);
	ck_assert_str_eq(t.data, "?[2J?m??\xc3\xa4");
	hv_text_clear(&t);
	hv_text_add_guest(&t, name, sizeof(name));
	ck_assert_str_eq(t.data, "long");
}
END_TEST

START_TEST(lines_keep_their_letters)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_text_add_lines(&t, "caf\xc3\xa9 \xc5\x9b\n\033[2J\xc2\x9bm\x7f\t\xe2\x80\x94");
	ck_assert_str_eq(t.data, "caf\xc3\xa9 \xc5\x9b\n?[2J?m??\xe2\x80\x94");
}
END_TEST

/* Tests every position in a name that is longer than one chunk of the check. */
START_TEST(every_byte_of_a_guest_is_looked_at)
{
	for (unsigned byte = 1; byte < 256; byte++)
		for (unsigned place = 0; place < 19; place++) {
			struct hv_text t = {0};
			bool acts = byte < 0x20 || byte == 0x7f || (byte >= 0x80 && byte < 0xa0);
			char name[] = "abcdefghijklmnopqrs", expected[sizeof(name)];

			name[place] = (char)byte;
			memcpy(expected, name, sizeof(name));
			if (acts)
				expected[place] = '?';
			hv_text_add_guest(&t, name, sizeof(name));
			ck_assert_str_eq(t.data, expected);
			hv_text_deinit(&t);
		}
}
END_TEST

START_TEST(numbers_match_printf)
{
	static const uint64_t numbers[] = {0,	 1,	9,	    10,		99,	   100,
					   9999, 10000, 4294967295, 4294967296, UINT64_MAX};

	for (unsigned i = 0; i < HV_ARRAY_LEN(numbers); i++)
		for (unsigned width = 0; width < 25; width++) {
			struct hv_text t = {0};
			char expected[64], digits[64];

			snprintf(expected, sizeof(expected), "%*llu", (int)width,
				 (unsigned long long)numbers[i]);
			hv_text_add_number(&t, numbers[i], width);
			ck_assert_str_eq(t.data, expected);
			snprintf(expected, sizeof(expected), "%020llu",
				 (unsigned long long)numbers[i]);
			*hv_put_digits(digits, numbers[i], 20) = '\0';
			ck_assert_str_eq(digits, expected);
			hv_text_deinit(&t);
		}
}
END_TEST

START_TEST(invalid_utf8_becomes_question_marks)
{
	HV_AUTO_TEXT struct hv_text t = {0};

	hv_text_add_utf8(&t, "a\033\x7f\xc3\xa4\xc4\x80\xe2\x82\xac\xf0\x9f\x99\x82z", 64);
	ck_assert_str_eq(t.data, "a??\xc3\xa4\xc4\x80\xe2\x82\xac\xf0\x9f\x99\x82z");
	hv_text_clear(&t);
	/* A control character in two bytes, stray bytes, a surrogate, an overlong form, a value
	 * above the last character, and a truncated character. */
	hv_text_add_utf8(&t, "\xc2\x9b\xff\x80\xed\xa0\x80\xc0\xaf\xe0\x80\xaf\xf4\x90\x80\x80",
			 64);
	ck_assert_str_eq(t.data, "????????????????");
	hv_text_clear(&t);
	hv_text_add_utf8(&t, "ab\xe2\x82\xac", 4);
	ck_assert_str_eq(t.data, "ab??");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, empty_is_valid);
	tcase_add_test(tc, every_byte_of_a_guest_is_looked_at);
	tcase_add_test(tc, numbers_match_printf);
	tcase_add_test(tc, grows);
	tcase_add_test(tc, bytes_may_be_zero);
	tcase_add_test(tc, guest_text_is_escaped_and_bounded);
	tcase_add_test(tc, invalid_utf8_becomes_question_marks);
	tcase_add_test(tc, lines_keep_their_letters);
}

int main(void)
{
	return run_suite("text", add_tests);
}
