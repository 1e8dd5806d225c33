/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The number of exits, in a directory that looks like KVM's. */
#include <check.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/text.h"
#include "cli/metrics/host_counts.h"
#include "tests/lib/run_suite.h"

static char debugfs[] = "/tmp/test_kvm_exits.XXXXXX";

static void put(const char *machine, const char *text)
{
	HV_AUTO_FREE char *dir = hv_format("%s/%s", debugfs, machine);
	HV_AUTO_FREE char *path = hv_format("%s/exits", dir);
	HV_AUTO_FD int fd = -1;

	mkdir(dir, 0700);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	ck_assert_int_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void remove_exits(const char *machine)
{
	HV_AUTO_FREE char *path = hv_format("%s/%s/exits", debugfs, machine);

	ck_assert_int_eq(unlink(path), 0);
}

static void begin(void)
{
	strcpy(strchr(debugfs, '.'), ".XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(debugfs));
	put("12-7", "1\n");
	put("123-7", "2\n");
	put("124-7", "18446744073709551615\n");
	put("124-8", "3\n");
	put("125-7", "none\n");
}

static void end(void)
{
	HV_AUTO_FREE char *command = hv_format("rm -r %s", debugfs);

	ck_assert_int_eq(system(command), 0);
}

START_TEST(a_machine_is_found_by_process_id)
{
	HV_AUTO_FD int fd = kvm_exits_open(debugfs, 123);
	uint64_t nr = 0;

	ck_assert(kvm_exits_read(fd, &nr));
	ck_assert_uint_eq(nr, 2);
	put("123-7", "50\n");
	ck_assert(kvm_exits_read(fd, &nr));
	ck_assert_uint_eq(nr, 50);
	remove_exits("123-7");
	ck_assert(!kvm_exits_read(fd, &nr));
}
END_TEST

START_TEST(missing_machines_and_files)
{
	HV_AUTO_FD int fd = kvm_exits_open(debugfs, 125);
	uint64_t nr = 9;

	ck_assert_int_eq(kvm_exits_open(debugfs, 1), -1);
	ck_assert_int_eq(kvm_exits_open(debugfs, 124), -1);
	ck_assert_int_eq(kvm_exits_open("/nonexistent", 123), -1);
	ck_assert(!kvm_exits_read(-1, &nr));
	ck_assert(!kvm_exits_read(fd, &nr));
	ck_assert_uint_eq(nr, 9);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, a_machine_is_found_by_process_id);
	tcase_add_test(tc, missing_machines_and_files);
}

int main(void)
{
	return run_suite("kvm_exits", add_tests);
}
