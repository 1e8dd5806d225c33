/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a process exists, and its identity. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "vmm/process/process.h"

START_TEST(processes)
{
	struct hv_process p = {0};
	struct hv_err *err = hv_process_open(getpid(), &p);
	pid_t pid = 0;

	ck_assert(!err);
	ck_assert_uint_eq(p.uid, geteuid());
	ck_assert_uint_ge(p.nr_args, 1);
	ck_assert(!hv_process_has_file(&p, "kvm-gmem"));
	hv_process_close(&p);
	err = hv_process_of_thread(gettid(), &pid);
	ck_assert(!err);
	ck_assert_int_eq(pid, getpid());
	ck_assert(hv_process_has_thread(getpid(), gettid()));
	ck_assert(!hv_process_has_thread(getpid(), getppid()));
	ck_assert(!hv_process_has_thread(getpid(), 0));
	ck_assert(!hv_process_has_thread(0, gettid()));
	ck_assert_int_eq(hv_thread_status(getpid(), gettid(), "Tgid:"), getpid());
	ck_assert_int_eq(hv_thread_status(getpid(), gettid(), "gid:"), 0);
	ck_assert_int_eq(hv_thread_status(getpid(), INT32_MAX, "Tgid:"), -1);
	err = hv_process_open(INT32_MAX, &p);
	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, ESRCH);
	hv_err_free(err);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_test(tc, processes);
}

int main(void)
{
	return run_suite("process", add_tests);
}
