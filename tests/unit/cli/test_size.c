/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes as a user writes them. */
#include <check.h>

#include "cli/parse.h"
#include "tests/lib/run_suite.h"

#define MIB (UINT64_C(1) << 20)

static const struct {
	const char *text;
	uint64_t bytes; /* 0: invalid */
} cases[] = {
	{"512", 512 * MIB},
	{"512M", 512 * MIB},
	{"512MiB", 512 * MIB},
	{"2G", 2048 * MIB},
	{"2g", 2048 * MIB},
	{"1.5G", 1536 * MIB},
	{"1024K", MIB},
	{"1T", 1048576 * MIB},
	{"0.25G", 256 * MIB},
	{".5G", 512 * MIB},
	{"", 0},
	{"G", 0},
	{"12X", 0},
	{"12MB", 0},
	{"-1", 0},
	{"1..5G", 0},
	{"1e3", 0},
	{"12iB", 0},
	{"9999999T", 0},
	{"9999999999999999999", 0},
	{"42535295865117307932921825928971026432", 0}, /* 2^125: times 1000 it is 0 in 128 bits */
	{"5.5K", 4096},				       /* whole pages */
};

START_TEST(each)
{
	uint64_t bytes = 0;
	bool ok = size_parse(cases[_i].text, &bytes);

	ck_assert_msg(ok == (cases[_i].bytes != 0), "'%s'", cases[_i].text);
	ck_assert_msg(bytes == cases[_i].bytes, "'%s': %llu", cases[_i].text,
		      (unsigned long long)bytes);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, each, 0, sizeof(cases) / sizeof(cases[0]));
}

int main(void)
{
	return run_suite("size", add_tests);
}
