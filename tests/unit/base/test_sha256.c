/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The examples of FIPS 180-4, and bytes that are added in parts. */
#include "base/sha256.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "tests/lib/run_suite.h"

static void check(const char *bytes, size_t nr_times, const char *wanted)
{
	uint8_t hash[HV_SHA256_BYTES];
	struct hv_sha256 s;
	char text[2 * HV_SHA256_BYTES + 1];

	hv_sha256_init(&s);
	for (size_t i = 0; i < nr_times; i++)
		hv_sha256_add(&s, bytes, strlen(bytes));
	hv_sha256_end(&s, hash);
	for (unsigned i = 0; i < HV_SHA256_BYTES; i++)
		snprintf(text + 2 * i, 3, "%02x", hash[i]);
	ck_assert_str_eq(text, wanted);
}

START_TEST(examples)
{
	check("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	check("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	check("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
	      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	check("aaaaaaaaaa", 100000,
	      "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, examples);
}

int main(void)
{
	return run_suite("sha256", add_tests);
}
