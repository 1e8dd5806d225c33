/* SPDX-License-Identifier: GPL-2.0-or-later */
/* x86-64: the context words of a record. Each row tests one rule of tracing_gen_ctx_irq_test(). */
#include <check.h>

#include "arch/arch.h"
#include "tests/lib/run_suite.h"

#define NO_RESCHED 0x80000000u
#define IF	   0x200

struct row {
	uint32_t preempt_count;
	uint16_t cpu_flags;
	uint16_t thread_flags;
	struct hv_context_bits masks;
	struct hv_context expect;
};

static const struct row rows[] = {
	{NO_RESCHED, IF, 0, {8, 0}, {0}},
	{NO_RESCHED, 0, 0, {8, 0}, {.flags = HV_CONTEXT_IRQS_OFF}},
	{NO_RESCHED, 0xfdff, 0, {8, 0}, {.flags = HV_CONTEXT_IRQS_OFF}},
	{NO_RESCHED, 0x246, 0xfff7, {8, 0}, {0}},
	{NO_RESCHED, IF, 0x0008, {8, 0}, {.flags = HV_CONTEXT_NEED_RESCHED}},
	{NO_RESCHED, IF, 0x0008, {4, 0}, {0}},
	{NO_RESCHED, IF, 0x0004, {4, 0}, {.flags = HV_CONTEXT_NEED_RESCHED}},
	{NO_RESCHED, IF, 0x0008, {8, 16}, {.flags = HV_CONTEXT_NEED_RESCHED}},
	{NO_RESCHED, IF, 0x0010, {8, 16}, {.flags = HV_CONTEXT_NEED_RESCHED_LAZY}},
	{NO_RESCHED,
	 IF,
	 0x0030,
	 {16, 32},
	 {.flags = HV_CONTEXT_NEED_RESCHED | HV_CONTEXT_NEED_RESCHED_LAZY}},
	{0, IF, 0, {8, 0}, {.flags = HV_CONTEXT_PREEMPT_RESCHED}},
	{NO_RESCHED | 1, IF, 0, {8, 0}, {.preempt_depth = 1}},
	{NO_RESCHED | 0xff, IF, 0, {8, 0}, {.preempt_depth = 255}},
	{NO_RESCHED | 0x100, IF, 0, {8, 0}, {.flags = HV_CONTEXT_SOFTIRQ}},
	{NO_RESCHED | 0x200, IF, 0, {8, 0}, {.flags = HV_CONTEXT_BH_OFF}},
	{NO_RESCHED | 0x300, IF, 0, {8, 0}, {.flags = HV_CONTEXT_SOFTIRQ | HV_CONTEXT_BH_OFF}},
	{NO_RESCHED | 0x8000, IF, 0, {8, 0}, {.flags = HV_CONTEXT_BH_OFF}},
	{NO_RESCHED | 0x10000, IF, 0, {8, 0}, {.flags = HV_CONTEXT_HARDIRQ}},
	{NO_RESCHED | 0x80000, IF, 0, {8, 0}, {.flags = HV_CONTEXT_HARDIRQ}},
	{NO_RESCHED | 0x100000, IF, 0, {8, 0}, {.flags = HV_CONTEXT_NMI}},
	{NO_RESCHED | 0x800000, IF, 0, {8, 0}, {.flags = HV_CONTEXT_NMI}},
	{NO_RESCHED | 0x7f000000, IF, 0, {8, 0}, {0}},
	/* 8 bits between the softirq and hardirq counts count disabled interrupts */
	{NO_RESCHED | 0xff0000, IF, 0, {8, 0, 8}, {0}},
	{NO_RESCHED | 0x1000000, IF, 0, {8, 0, 8}, {.flags = HV_CONTEXT_HARDIRQ}},
	{NO_RESCHED | 0x8000000, IF, 0, {8, 0, 8}, {.flags = HV_CONTEXT_HARDIRQ}},
	{NO_RESCHED | 0x10000000, IF, 0, {8, 0, 8}, {.flags = HV_CONTEXT_NMI}},
	{NO_RESCHED | 0x40000000, IF, 0, {8, 0, 8}, {.flags = HV_CONTEXT_NMI}},
	{0x1000001,
	 IF,
	 0,
	 {8, 0, 8},
	 {.flags = HV_CONTEXT_HARDIRQ | HV_CONTEXT_PREEMPT_RESCHED, .preempt_depth = 1}},
};

/* _i: the row */
START_TEST(each_context_bit_is_decoded)
{
	const struct row *row = &rows[_i];
	struct hv_context got = hv_arch_x86_64.decode_context(row->preempt_count, row->cpu_flags,
							      row->thread_flags, row->masks);

	ck_assert_uint_eq(got.flags, row->expect.flags);
	ck_assert_uint_eq(got.preempt_depth, row->expect.preempt_depth);
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_loop_test(tc, each_context_bit_is_decoded, 0, (int)HV_ARRAY_LEN(rows));
}

int main(void)
{
	return run_suite("context", add_tests);
}
