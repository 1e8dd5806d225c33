/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code that only riscv64 kernels need, tested with a fake kernel. Its page tables are x86-64's,
 * which makes no difference for this code. */
#include <check.h>

#include "kernel/clock/clock.h"
#include "kernel/arch/kernel_arch.h"
#include "tests/lib/expect.h"
#include "tests/lib/run_suite.h"
#include "tests/unit/kernel/fake_kernel.h"

#define READER	 (FK_BASE + 0x300)
#define OTHER	 (FK_BASE + 0x400)
#define CLOCK_NS 1000

static const struct hv_kernel_arch *const arch = &hv_kernel_arch_riscv64;
static struct fk f;
static uint64_t clock_at;

/* struct clock_data: seq, then two copies from 8 on, of 40 bytes each */
static void setup(void)
{
	uint32_t copies, thread_info;

	fk_init(&f);
	copies = array(FK_STRUCT("clock_read_data", 40, {"epoch_ns", 0, 8}, {"epoch_cyc", 8, 8},
				 {"read_sched_clock", 24, 8}, {"mult", 32, 4}, {"shift", 36, 4}),
		       2);
	FK_STRUCT("clock_data", 96, {"seq", 0, 4}, {"read_data", 8, 80, copies});
	thread_info = FK_STRUCT("thread_info", 32, {"flags", 0, 8}, {"preempt_count", 8, 4},
				{"cpu", 28, 4});
	FK_STRUCT("task_struct", 64, {"thread_info", 0, 32, thread_info});
	clock_at = fk_alloc(&f, 96);
	fk_u64(&f, clock_at + 8, CLOCK_NS);
	fk_u64(&f, clock_at + 8 + 24, READER);
	fk_symbol(&f, "irq_stack_ptr", FK_PERCPU(1));
	fk_symbol(&f, "overflow_stack", FK_PERCPU(2));
	fk_symbol(&f, "_start", FK_BASE);
	fk_symbol(&f, "__start_init_stack", FK_BASE + 0x8000);
	fk_symbol(&f, "__end_init_stack", FK_BASE + 0x10000);
	fk_symbol(&f, "riscv_sched_clock", READER);
	fk_symbol(&f, "jiffy_sched_clock_read", OTHER);
	fk_symbol(&f, "ftrace_caller", FK_BASE + 0x12345);
	fk_symbol(&f, "cd", clock_at);
	fk_symbol(&f, "_end", FK_END);
	fk_done(&f);
}

static void teardown(void)
{
	fk_deinit(&f);
}

START_TEST(numbers_are_in_the_task)
{
	struct hv_percpu_layout layout = {0};
	HV_AUTO_ERR struct hv_err *err = arch->find_percpu(&f.k.core, &layout);

	ck_assert_msg(!err, "%s", err ? err->message : "");
	ck_assert(layout.in_task);
	ck_assert_uint_eq(layout.cpu_number, 28);
	ck_assert_uint_eq(layout.preempt_count, 8);
}
END_TEST

START_TEST(the_clock_is_the_time_register)
{
	HV_AUTO_FREE struct hv_clock_source *source = NULL;
	struct hv_clock_source *none = NULL;
	struct hv_clock_scale scale = {0};

	ck_assert_ptr_null(arch->find_clock(&f.k.core, &source));
	ck_assert_ptr_nonnull(source);
	ck_assert_ptr_null(source->read(source, &f.k.core, 0, &scale));
	ck_assert_uint_eq(scale.base_ns, CLOCK_NS);
	fk_u64(&f, clock_at + 8 + 24, OTHER);
	ck_assert_ptr_null(arch->find_clock(&f.k.core, &none));
	ck_assert_ptr_null(none);
}
END_TEST

/* Interrupt stacks have the size of a task's stack. */
START_TEST(stacks_of_a_cpu)
{
	struct hv_cpu_stack stacks[HV_CPU_STACKS_MAX];
	size_t nr = 0;

	fk_u64(&f, f.areas[1] + FK_PERCPU(1), 0xffff800080008000);
	ck_assert_ptr_null(arch->read_stacks(&f.k.core, 1, stacks, &nr));
	ck_assert_uint_eq(nr, 2);
	ck_assert_uint_eq(stacks[0].range.start.v, 0xffff800080008000);
	ck_assert_uint_eq(stacks[0].range.end.v, 0xffff800080010000);
	ck_assert_int_eq(stacks[0].kind, HV_CPU_STACK_INTERRUPT);
	ck_assert_uint_eq(stacks[1].range.start.v, f.areas[1] + FK_PERCPU(2));
	ck_assert_uint_eq(stacks[1].range.end.v, f.areas[1] + FK_PERCPU(2) + 4096);
}
END_TEST

/* Modules are in the 2 GiB that end with the image, and BPF programs in the 128 MiB below the
 * image. */
START_TEST(reach_is_below_the_image)
{
	const uint64_t gib = 1 << 30, mib = 1 << 20;
	const struct {
		uint64_t start, end;
	} refused[] = {
		{FK_BASE, FK_BASE},
		{FK_BASE, FK_BASE - mib},
		{FK_BASE, FK_BASE + gib + 1},		      /* after the range */
		{FK_BASE - 2 * gib - mib, FK_BASE - 2 * gib}, /* before the range */
		{FK_BASE, FK_BASE + 2 * gib - 127 * mib},     /* no room for BPF programs */
	};
	struct hv_arch moved = hv_arch_riscv64;
	struct hv_reach reach = {0};

	moved.free_range = (struct hv_gva_range){{FK_BASE - 3 * gib}, {FK_BASE + gib}};
	f.k.core.as.arch = &moved;
	expect_success(arch->find_reach(&f.k.core, &reach));
	ck_assert_uint_eq(reach.code.start.v, FK_END - 2 * gib);
	ck_assert_uint_eq(reach.code.end.v, FK_BASE - 128 * mib);
	ck_assert_uint_eq(reach.entry_off, 0x345);
	for (size_t i = 0; i < HV_ARRAY_LEN(refused); i++) {
		moved.free_range.end.v = i == 4 ? UINT64_MAX : FK_BASE + gib;
		fk_move_symbol(&f, "_start", refused[i].start);
		fk_move_symbol(&f, "_end", refused[i].end);
		expect_error(arch->find_reach(&f.k.core, &reach), ENOTSUP,
			     "the kernel's image is not where modules can be called");
	}
}
END_TEST

START_TEST(the_table_is_found)
{
	f.k.core.as.arch = &hv_arch_riscv64;
	ck_assert_ptr_eq(hv_kernel_arch_of(&f.k.core), arch);
	ck_assert(!arch->has_kpti(&f.k.core));
}
END_TEST

static void add_tests(TCase *tc)
{
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, numbers_are_in_the_task);
	tcase_add_test(tc, the_clock_is_the_time_register);
	tcase_add_test(tc, stacks_of_a_cpu);
	tcase_add_test(tc, reach_is_below_the_image);
	tcase_add_test(tc, the_table_is_found);
}

int main(void)
{
	return run_suite("riscv64_kernel", add_tests);
}
