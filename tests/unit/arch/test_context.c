/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64: the context words of a record, one row a rule of tracing_gen_ctx_irq_test(). */
#include <check.h>

#include "arch/arch.h"
#include "tests/lib/run_suite.h"

#define NO_RESCHED 0x80000000u
#define IF	   0x200

struct row {
	uint32_t preempt_count;
	uint16_t cpu_flags;
	uint16_t thread_flags;
	struct hv_resched_masks masks;
	struct hv_context expect;
};

static const struct row rows[] = {
	{NO_RESCHED, IF, 0, {8, 0}, {0}},
	{NO_RESCHED, 0, 0, {8, 0}, {.irqs_off = true}},
	{NO_RESCHED, 0xfdff, 0, {8, 0}, {.irqs_off = true}},
	{NO_RESCHED, 0x246, 0xfff7, {8, 0}, {0}},
	{NO_RESCHED, IF, 0x0008, {8, 0}, {.need_resched = true}},
	{NO_RESCHED, IF, 0x0008, {4, 0}, {0}},
	{NO_RESCHED, IF, 0x0004, {4, 0}, {.need_resched = true}},
	{NO_RESCHED, IF, 0x0008, {8, 16}, {.need_resched = true}},
	{NO_RESCHED, IF, 0x0010, {8, 16}, {.need_resched_lazy = true}},
	{NO_RESCHED, IF, 0x0030, {16, 32}, {.need_resched = true, .need_resched_lazy = true}},
	{0, IF, 0, {8, 0}, {.preempt_resched = true}},
	{NO_RESCHED | 1, IF, 0, {8, 0}, {.preempt_depth = 1}},
	{NO_RESCHED | 0xff, IF, 0, {8, 0}, {.preempt_depth = 255}},
	{NO_RESCHED | 0x100, IF, 0, {8, 0}, {.softirq = true}},
	{NO_RESCHED | 0x200, IF, 0, {8, 0}, {.bh_off = true}},
	{NO_RESCHED | 0x300, IF, 0, {8, 0}, {.softirq = true, .bh_off = true}},
	{NO_RESCHED | 0x8000, IF, 0, {8, 0}, {.bh_off = true}},
	{NO_RESCHED | 0x10000, IF, 0, {8, 0}, {.hardirq = true}},
	{NO_RESCHED | 0x80000, IF, 0, {8, 0}, {.hardirq = true}},
	{NO_RESCHED | 0x100000, IF, 0, {8, 0}, {.nmi = true}},
	{NO_RESCHED | 0x800000, IF, 0, {8, 0}, {.nmi = true}},
	{NO_RESCHED | 0x7f000000, IF, 0, {8, 0}, {0}},
};

/* _i: the row */
START_TEST(each_bit_is_what_the_kernel_takes_it_for)
{
	const struct row *row = &rows[_i];
	struct hv_context got = hv_arch_x86_64.decode_context(row->preempt_count, row->cpu_flags,
							      row->thread_flags, row->masks);

	ck_assert_int_eq(got.irqs_off, row->expect.irqs_off);
	ck_assert_int_eq(got.need_resched, row->expect.need_resched);
	ck_assert_int_eq(got.need_resched_lazy, row->expect.need_resched_lazy);
	ck_assert_int_eq(got.preempt_resched, row->expect.preempt_resched);
	ck_assert_int_eq(got.nmi, row->expect.nmi);
	ck_assert_int_eq(got.hardirq, row->expect.hardirq);
	ck_assert_int_eq(got.softirq, row->expect.softirq);
	ck_assert_int_eq(got.bh_off, row->expect.bh_off);
	ck_assert_uint_eq(got.preempt_depth, row->expect.preempt_depth);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, each_bit_is_what_the_kernel_takes_it_for, 0,
			    (int)HV_ARRAY_LEN(rows));
}

int main(void)
{
	return run_suite("context", add_tests);
}
