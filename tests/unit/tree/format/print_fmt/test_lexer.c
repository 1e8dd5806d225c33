/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C tokens as the preprocessor leaves them in a print_fmt. */
#include <check.h>
#include <string.h>

#include "tests/lib/run_suite.h"
#include "tree/format/print_fmt/lexer.h"

static struct hv_print_token token(const char *text)
{
	size_t at = 0;

	return hv_print_token(text, &at);
}

START_TEST(numbers)
{
	static const struct {
		const char *text;
		uint64_t number;
		unsigned number_bytes;
		bool is_unsigned;
	} cases[] = {
		{"0", 0, 4, false},
		{"2147483647", 2147483647, 4, false},
		{"2147483648", 2147483648, 8, false}, /* a decimal does not become unsigned */
		{"0x80000000", 0x80000000, 4, true},
		{"0777", 0777, 4, false},
		{"1U", 1, 4, true},
		{"1UL", 1, 8, true},
		{"1ll", 1, 8, false},
		{"0xffffffffffffffff", UINT64_MAX, 8, true},
		{"'A'", 'A', 4, false},
		{"'\\n'", '\n', 4, false},
		{"'\\xff'", UINT64_MAX, 4, false}, /* a char is signed */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hv_print_token t = token(cases[i].text);

		ck_assert_int_eq(t.kind, HV_TOKEN_NUMBER);
		ck_assert_uint_eq(t.number, cases[i].number);
		ck_assert_uint_eq(t.number_bytes, cases[i].number_bytes);
		ck_assert(t.is_unsigned == cases[i].is_unsigned);
	}
}
END_TEST

START_TEST(tokens_in_order)
{
	const char *text = " REC->pid<<2 >= \"a\\\"b\"\n!=x";
	static const char *const want[] = {"REC", "->",	    "pid", "<<", "2",
					   ">=",  "a\\\"b", "!=",  "x"};
	size_t at = 0;

	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct hv_print_token t = hv_print_token(text, &at);

		ck_assert_uint_eq(t.len_bytes, strlen(want[i]));
		ck_assert_mem_eq(t.text, want[i], t.len_bytes);
	}
	ck_assert_int_eq(hv_print_token(text, &at).kind, HV_TOKEN_END);
	ck_assert_int_eq(hv_print_token(text, &at).kind, HV_TOKEN_END);
}
END_TEST

START_TEST(invalid_tokens)
{
	static const char *const cases[] = {"\"open", "'", "'ab'", "1x", "@", "\x01", "\"\\"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t at = 0;

		ck_assert_int_eq(hv_print_token(cases[i], &at).kind, HV_TOKEN_BAD);
		ck_assert_uint_eq(at, 0);
	}
}
END_TEST

START_TEST(escapes)
{
	static const struct {
		const char *text;
		const char *want;
	} cases[] = {
		{"plain", "plain"},   {"a\\tb\\n", "a\tb\n"}, {"\\\"\\\\", "\"\\"},
		{"\\101\\x42", "AB"}, {"\\q", "q"},	      {"end\\", "end\\"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char got[16];
		size_t len = hv_print_unescape(cases[i].text, strlen(cases[i].text), got);

		ck_assert_uint_eq(len, strlen(cases[i].want));
		ck_assert_mem_eq(got, cases[i].want, len);
	}
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, numbers);
	tcase_add_test(tc, tokens_in_order);
	tcase_add_test(tc, invalid_tokens);
	tcase_add_test(tc, escapes);
}

int main(void)
{
	return run_suite("lexer", add_tests);
}
