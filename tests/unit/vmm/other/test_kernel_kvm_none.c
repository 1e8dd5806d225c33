/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A build without libbpf. */
#include <check.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/other/kernel_kvm.h"

START_TEST(nothing_is_known)
{
	static const char why[] = "memory slots of a VMM without a monitor: built without libbpf";
	struct hv_kernel_kvm *k = NULL;
	struct hv_kernel_slot slot;
	size_t nr = 0;
	pid_t tid = 0;

	expect_error(hv_kernel_kvm_open(1, 3, &k), ENOTSUP, why);
	expect_error(hv_kernel_kvm_slots(k, &slot, &nr), ENOTSUP, why);
	expect_error(hv_kernel_kvm_thread(k, 4, &tid), ENOTSUP, why);
	hv_kernel_kvm_free(k);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, nothing_is_known);
}

int main(void)
{
	return run_suite("kernel_kvm_none", add_tests);
}
