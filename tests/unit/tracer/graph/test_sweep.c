/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Return stacks of dead tasks: recognized because their kernel stacks are no longer mapped. */
#include <check.h>

#include "tests/lib/run_suite.h"
#include "tests/unit/tracer/fake_returns.h"
#include "tracer/graph/returns.h"

static struct fr r;

#define GONE 0xffffc90001000000ull /* stacks of FT_STACK each; one page of each may be mapped */

static void setup(void)
{
	fr_init(&r);
}

static void teardown(void)
{
	fr_deinit(&r);
}

static unsigned nr_taken(void)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < FR_NR_STACKS; i++)
		nr += hv_region_stack(&r.tracee.region, i)->word != 0;
	return nr;
}

static void stack_of(unsigned i, uint64_t kernel_stack)
{
	hv_region_stack(&r.tracee.region, i)->word = kernel_stack + 5 * sizeof(struct hv_frame);
}

START_TEST(return_stacks_of_dead_tasks_are_freed)
{
	const uint64_t last_page = GONE + FT_STACK - 4096;

	r.t.f.k.layout.stack_bytes = FT_STACK;
	stack_of(0, ft_stack(&r.t, r.task));
	stack_of(1, GONE + FT_STACK);
	stack_of(2, GONE);
	stack_of(3, 0xffffffffffffc000); /* ends beyond the address space */
	xm_map(&r.t.f.machine, r.t.f.k.core.as.root, 4, 1, hv_gva(last_page), hv_gpa(0), 1, XM_W);
	hv_sweep(&r.tracee);
	ck_assert_uint_eq(nr_taken(), 3);
	ck_assert_uint_eq(hv_region_stack(&r.tracee.region, 1)->word, 0);
	*xm_path(&r.t.f.machine, r.t.f.k.core.as.root, 4, 1, hv_gva(last_page)) = 0;
	hv_sweep(&r.tracee);
	ck_assert_uint_eq(nr_taken(), 2);
	ck_assert_uint_eq(hv_region_stack(&r.tracee.region, 2)->word, 0);
}
END_TEST

static unsigned nr_holds(void)
{
	return (unsigned)hv_patcher_holds(r.tracee.patcher)->nr;
}

START_TEST(few_dead_stacks_are_not_worth_a_hold)
{
	r.t.f.k.layout.stack_bytes = FT_STACK;
	r.tracee.plan.nr_stacks = 24;
	for (unsigned i = 0; i < 12; i++)
		stack_of(i, ft_stack(&r.t, r.task));
	stack_of(20, GONE);
	stack_of(21, GONE + FT_STACK);
	hv_sweep(&r.tracee);
	ck_assert_uint_eq(nr_holds(), 0);
	stack_of(22, GONE + 2 * FT_STACK);
	hv_sweep(&r.tracee);
	ck_assert_uint_eq(nr_holds(), 1);
	ck_assert_uint_eq(hv_returns_open(&r.tracee), 12 * 5);
	hv_sweep(&r.tracee);
	ck_assert_uint_eq(nr_holds(), 1);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, return_stacks_of_dead_tasks_are_freed);
	tcase_add_test(tc, few_dead_stacks_are_not_worth_a_hold);
}

int main(void)
{
	return run_suite("sweep", add_tests);
}
