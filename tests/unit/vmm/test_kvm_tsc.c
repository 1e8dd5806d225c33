/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KVM's files in debugfs, made by the test. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "vmm/tsc.h"

static char dir[] = "/tmp/hvtrace-test-XXXXXX";
static struct hv_tsc tsc;

static void put(const char *machine, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, machine);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/vcpu1", dir, machine);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/%s/vcpu1/%s", dir, machine, name);
	f = fopen(path, "we");
	ck_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static void setup(void)
{
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void teardown(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -r %s", dir);
	ck_assert_int_eq(system(command), 0);
}

static void told(void)
{
	struct hv_err *err = hv_kvm_tsc(dir, 42, 1, &tsc);

	ck_assert_msg(!err, "%s", err ? err->message : "");
}

static void refused(int code, const char *message)
{
	expect_error(hv_kvm_tsc(dir, 42, 1, &tsc), code, message);
}

START_TEST(offset_and_ratio)
{
	put("42-13", "tsc-offset", "-123456789012345\n");
	put("421-13", "tsc-offset", "1\n");
	put("42-13", "tsc-scaling-ratio", "4294967296\n");
	put("42-13", "tsc-scaling-ratio-frac-bits", "32\n");
	told();
	ck_assert_uint_eq(tsc.offset, (uint64_t)-123456789012345);
	ck_assert_uint_eq(tsc.ratio, 1ull << 32);
	ck_assert_uint_eq(tsc.frac_bits, 32);
}
END_TEST

START_TEST(hardware_that_does_not_scale)
{
	put("42-13", "tsc-offset", "77\n");
	told();
	ck_assert_uint_eq(tsc.offset, 77);
	ck_assert_uint_eq(tsc.ratio, 1);
	ck_assert_uint_eq(tsc.frac_bits, 0);
}
END_TEST

START_TEST(unreadable_clock_files)
{
	refused(ENOENT, ": no virtual machine of process 42");
	put("42-13", "other", "");
	refused(ENOENT, "/vcpu1/tsc-offset: No such file or directory");
	put("42-13", "tsc-offset", "what\n");
	refused(EPROTO, "/vcpu1/tsc-offset: not a number");
	put("42-13", "tsc-offset", "1\n");
	put("42-13", "tsc-scaling-ratio", "0\n");
	put("42-13", "tsc-scaling-ratio-frac-bits", "32\n");
	refused(EPROTO, "/42-13: vCPU 1: TSC ratio 0 >> 32 is not possible");
	put("42-13", "tsc-scaling-ratio", "5\n");
	put("42-13", "tsc-scaling-ratio-frac-bits", "64\n");
	refused(EPROTO, "/42-13: vCPU 1: TSC ratio 5 >> 64 is not possible");
	put("42-14", "tsc-offset", "1\n");
	refused(ENOTUNIQ, ": process 42 has 2 virtual machines");
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, offset_and_ratio);
	tcase_add_test(tc, hardware_that_does_not_scale);
	tcase_add_test(tc, unreadable_clock_files);
}

int main(void)
{
	return run_suite("kvm_tsc", add_tests);
}
