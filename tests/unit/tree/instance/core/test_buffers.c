/* SPDX-License-Identifier: GPL-2.0-or-later */
/* trace_pipe has one reader, or one per vCPU. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tree/instance/core/buffers.h"

static struct hv_pipes pipes;

static void set_up(void)
{
	hv_pipes_init(&pipes, 2);
}

static void tear_down(void)
{
	ck_assert_uint_eq(pipes.nr, 0);
	hv_pipes_deinit(&pipes);
}

static void refused(int cpu)
{
	struct hv_err *err = hv_pipes_take(&pipes, cpu);

	ck_assert_ptr_nonnull(err);
	ck_assert_int_eq(err->code, EBUSY);
	hv_err_free(err);
}

START_TEST(one_pipe_for_all_vcpus)
{
	ck_assert_ptr_null(hv_pipes_take(&pipes, -1));
	refused(-1);
	refused(0);
	refused(1);
	hv_pipes_give_back(&pipes, -1);
	ck_assert_ptr_null(hv_pipes_take(&pipes, -1));
	hv_pipes_give_back(&pipes, -1);
}
END_TEST

START_TEST(one_pipe_for_each_vcpu)
{
	ck_assert_ptr_null(hv_pipes_take(&pipes, 0));
	refused(0);
	refused(-1);
	ck_assert_ptr_null(hv_pipes_take(&pipes, 1));
	hv_pipes_give_back(&pipes, 0);
	refused(-1);
	refused(1);
	ck_assert_ptr_null(hv_pipes_take(&pipes, 0));
	hv_pipes_give_back(&pipes, 0);
	hv_pipes_give_back(&pipes, 1);
	ck_assert_ptr_null(hv_pipes_take(&pipes, -1));
	hv_pipes_give_back(&pipes, -1);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, set_up, tear_down);
	tcase_add_test(tc, one_pipe_for_all_vcpus);
	tcase_add_test(tc, one_pipe_for_each_vcpu);
}

int main(void)
{
	return run_suite("buffers", add_tests);
}
