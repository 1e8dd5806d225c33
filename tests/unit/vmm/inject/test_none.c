/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Injection on a host of another architecture. */
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/inject/call.h"
#include "vmm/inject/kvm.h"

#define NOT_HERE "injection does not support this host's architecture"

START_TEST(nothing_is_injected)
{
	struct hv_call_code code;
	unsigned bits;

	expect_error(hv_call_code_find(1, &code), ENOTSUP, NOT_HERE);
	expect_error(hv_call_check(NULL, NULL, NULL, 0), ENOTSUP, NOT_HERE);
	expect_error(hv_call_run(1, NULL, NULL, NULL, 0, NULL, 0, 0), ENOTSUP, NOT_HERE);
	expect_error(hv_kvm_phys_bits(NULL, NULL, &bits), ENOTSUP, NOT_HERE);
	ck_assert(!hv_call_can(NULL));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, nothing_is_injected);
}

int main(void)
{
	return run_suite("inject_none", add_tests);
}
