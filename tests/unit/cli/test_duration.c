/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>

#include "cli/parse.h"
#include "tests/lib/run_suite.h"

static const struct {
	const char *text;
	uint64_t ns; /* 0: not a duration */
} durations[] = {
	{"2", 2000000000},
	{"2s", 2000000000},
	{"1.5s", 1500000000},
	{".5", 500000000},
	{"500ms", 500000000},
	{"0.25ms", 250000},
	{"7us", 7000},
	{"1m", 60000000000},
	{"1h", 3600000000000},
	{"8784h", 31622400000000000},
	{"1.23456", 1234000000},
	{"", 0},
	{"0", 0},
	{"0ms", 0},
	{".", 0},
	{"s", 0},
	{"-1", 0},
	{"+1", 0},
	{" 1", 0},
	{"1 s", 0},
	{"1x", 0},
	{"1e3", 0},
	{"1.5.5", 0},
	{"8785h", 0},
	{"999999999999h", 0},
	{"9999999999999999999999", 0},
};

START_TEST(durations_are_read)
{
	uint64_t ns = 0;
	bool ok = duration_parse(durations[_i].text, &ns);

	ck_assert_msg(ok == (durations[_i].ns != 0), "'%s'", durations[_i].text);
	ck_assert_msg(ns == durations[_i].ns, "'%s' is %llu", durations[_i].text,
		      (unsigned long long)ns);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, durations_are_read, 0, sizeof(durations) / sizeof(durations[0]));
}

int main(void)
{
	return run_suite("duration", add_tests);
}
